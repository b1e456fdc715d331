"""Numbers with a scale and a zero point, as trained and quantised models have them."""
