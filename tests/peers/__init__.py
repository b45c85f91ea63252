"""Other people's programs that Penstock is held against: how to get one, start one and stop it."""
