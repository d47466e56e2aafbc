"""LimitRanges: their defaults for pods, and what they refuse (page "Limit Ranges"). Enter by `limit_range`."""
