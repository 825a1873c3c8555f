#!/bin/sh
# Creates the secrets for docker/compose.yml in docker/secrets. Existing secrets are kept.
set -eu
cd "$(dirname "$0")"
mkdir -p -m 700 secrets
# The directory is private. The files are readable, because the account in the container is not their owner.
umask 022

random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
# A PIN consists of 16 digits, each from a separate random byte.
digits() { od -An -N16 -tu1 -w1 -v /dev/urandom | awk '{ printf "%d", $1 % 10 }'; }
keep() { [ -s "secrets/$1" ] || printf '%s' "$2" > "secrets/$1"; }

keep postgres-password "$(random 24)"
keep redis-password "$(random 24)"
keep jwt-secret "$(random 48)"
keep pkcs11-pin "$(digits)"
keep pkcs11-so-pin "$(digits)"
keep admin-password "$(random 12)"
keep database-url "postgresql://sealwright:$(cat secrets/postgres-password)@postgres:5432/sealwright"
keep redis-url "redis://:$(cat secrets/redis-password)@redis:6379"
echo "Secrets are in $(pwd)/secrets. The administrator's password: $(pwd)/secrets/admin-password"
