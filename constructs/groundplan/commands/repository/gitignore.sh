# Never: state, plans (they hold secrets), what Terraform downloads. Always: .terraform.lock.hcl.
.terraform/
*.tfstate
*.tfstate.*
*.tfplan
plans/
.venv/
