"""The RONDO paper: encoders, UnitAlign, DeepDPM, MotifFormer, continual rule; one file for each box of its figure."""
