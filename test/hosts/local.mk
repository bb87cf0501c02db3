## Tests on several hosts, which contrib/vcluster makes. Without the permission for that they are skipped.

FULL_TESTS += test/hosts/test_vcluster.py test/hosts/check_hosts
EXTRA_DIST += test/hosts/test_vcluster.py test/hosts/check_hosts test/hosts/check_slurm test/hosts/local.mk
