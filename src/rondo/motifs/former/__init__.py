"""MotifFormer, the motif stage of the paper: subsequences of units, described, clustered, matched and fused."""
