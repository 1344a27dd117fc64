"""What chapters and claims compute from runs: ratios, slopes, rankings, with their uncertainty."""
