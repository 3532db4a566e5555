"""Windows -> representations: encoders behind one interface, one file each."""
