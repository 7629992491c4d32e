"""What Kubernetes gets for a profile, and gives: the copies, the guards around them, the status."""
