"""What LimitRanges make of pods and claims, and what they refuse (page "Limit Ranges")."""
