"""Charts over time: what lies where in memory, and when nodes run."""
