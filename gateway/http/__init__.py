"""HTTP as the server speaks it: connections and limits, request info, negotiation, Status, sending."""
