"""The network stack: project services, primary VPC, NAT, private service access."""
