"""Label and field selectors: parsed once, then asked about objects."""
