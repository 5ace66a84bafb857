"""groundplan's own rules and words for plans, plugged into `plan_review`: openings, exposure, protection, capacity."""
