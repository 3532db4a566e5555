"""Where randomness and devices come from: one generator, passed down; one device, chosen once."""
