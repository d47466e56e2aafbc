"""Label and field selectors: parsed once, then matched against objects. Enter by `labels` and `fields`."""
