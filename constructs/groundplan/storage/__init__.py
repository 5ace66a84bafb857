"""The storage stack: Managed Lustre and buckets."""
