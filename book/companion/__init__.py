"""What makes the book from the package: chapters, figures, claims, the explorer, citing.

It is installed beside `dpbandits` by ``make`` and is in no wheel.
"""
