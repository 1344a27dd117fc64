"""What is read off results: slopes, ratios and rankings, with their uncertainty."""
