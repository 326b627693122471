"""The grower that every tree method shares: statistics, split, grow, prune, tree."""
