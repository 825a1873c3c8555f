/** A script that must exit with 0 on a machine on which the package is installed and the service is stopped. `VERSION` and `NEXT` are in the environment. */
export interface PackageCase {
  readonly promise: string;
  /** Public bug report about a comparable product, on which the case is based. */
  readonly report: string;
  readonly script: string;
}

const READY =
  'until curl --silent --fail http://127.0.0.1:9090/actuator/health/readiness > /dev/null; do sleep 1; done';
const START = `systemctl start sealwright-api sealwright-worker; ${READY}`;
const STOP = 'systemctl stop sealwright-api sealwright-worker';

/** Creates the directory by which the package detects systemd. Once the directory exists, init scripts call systemctl, so init scripts must run first. */
const WITH_SYSTEMD = 'mkdir -p /run/systemd/system';
const PID_OF_API = 'cat /run/units/sealwright-api.pid';

export const PACKAGE_CASES: readonly PackageCase[] = [
  {
    promise: 'an upgrade restarts the processes that run',
    report: 'grafana/grafana#5282',
    script: [
      WITH_SYSTEMD,
      START,
      `was=$(${PID_OF_API}) && dpkg --install ./sealwright_\${NEXT}_amd64.deb && test "$(${PID_OF_API})" != $was`,
      READY,
    ].join('\n'),
  },
  {
    promise: 'an upgrade while the database is down leaves the package configured and the earlier version running',
    report: 'grafana/grafana#2320, #128982',
    script: [
      START,
      `was=$(${PID_OF_API}) && systemctl stop postgresql`,
      WITH_SYSTEMD,
      'dpkg --install ./sealwright_${NEXT}_amd64.deb 2>&1 | tee said && grep -q "not migrated" said',
      `test "$(${PID_OF_API})" = $was && systemctl is-active sealwright-api && dpkg --status sealwright | grep "install ok installed"`,
    ].join('\n'),
  },
  {
    promise: 'a removal stops the processes',
    report: 'grafana/grafana#59580',
    script: [
      WITH_SYSTEMD,
      START,
      `was=$(${PID_OF_API}) && dpkg --remove sealwright && ! kill -0 $was`,
      'dpkg --install ./sealwright_${NEXT}_amd64.deb',
    ].join('\n'),
  },
  {
    promise: 'a setting of the operator survives a reinstallation',
    report: 'vectordotdev/vector#18718, grindsa/acme2certifier#104',
    script: [
      `sed -i '$a # ours' /etc/sealwright/sealwright.env && sha256sum /etc/sealwright/sealwright.env > before`,
      'dpkg --install ./sealwright_${NEXT}_amd64.deb && sha256sum -c before',
    ].join('\n'),
  },
  {
    promise: 'the maintainer scripts accept every action of dpkg',
    report: 'grafana/mimir#6013',
    script: [
      'scripts=/var/lib/dpkg/info/sealwright',
      'for action in abort-upgrade abort-remove abort-deconfigure; do $scripts.postinst $action 1; done',
      'for action in upgrade failed-upgrade deconfigure; do $scripts.prerm $action 1; done',
      'for action in upgrade failed-upgrade abort-install abort-upgrade disappear; do $scripts.postrm $action 1; done',
      START,
      STOP,
    ].join('\n'),
  },
  {
    promise: 'purged and installed again, it serves the same data',
    report: 'hashicorp/vault#31738, grafana/grafana-ansible-collection#193',
    script: [
      'find /etc/sealwright/secrets /var/lib/sealwright -type f -exec sha256sum {} + > before',
      'dpkg --purge sealwright && test ! -e /opt/sealwright && sha256sum --quiet -c before && getent passwd sealwright',
      'dpkg --install ./sealwright_${NEXT}_amd64.deb',
      START,
      'sealwright-admin doctor | tee /dev/stderr | grep -q "^0 bad"',
      STOP,
    ].join('\n'),
  },
  {
    promise: 'a state directory that is there already, on a file system of its own, is kept',
    report: 'grafana/grafana#127164',
    script: [
      'mkdir /tmp/state && cp -a /var/lib/sealwright/. /tmp/state && mount --bind /tmp/state /var/lib/sealwright',
      'dpkg --install ./sealwright_${NEXT}_amd64.deb && test -d /var/lib/sealwright/tokens',
      'umount /var/lib/sealwright && rm -r /tmp/state',
    ].join('\n'),
  },
  {
    promise: 'installed under umask 077, the service can read its programs',
    report: 'DietPi and hardened images: files of root that the account cannot read',
    script: ['(umask 077 && dpkg --install ./sealwright_${NEXT}_amd64.deb)', START, STOP].join('\n'),
  },
  {
    promise: 'back on the earlier version, it serves on the newer schema',
    report: 'goauthentik/authentik#20667, inmanta/inmanta-core#1878',
    script: [
      'dpkg --install ./sealwright_${VERSION}_amd64.deb',
      START,
      'sealwright-admin --version | grep -q "^$VERSION+"',
      STOP,
      'dpkg --install ./sealwright_${NEXT}_amd64.deb',
    ].join('\n'),
  },
  {
    promise: 'a password of the database may have any characters, percent-encoded in the address',
    report: 'goharbor/harbor#7948, #18538',
    script: [
      'url=/etc/sealwright/secrets/database-url; cp -p $url saved',
      `echo "ALTER ROLE sealwright PASSWORD '@=?x6/%+#: é'" > change.sql && chmod 644 change.sql && cp change.sql /tmp/`,
      'runuser -l postgres -c "psql --quiet -f /tmp/change.sql"',
      `printf 'postgresql://sealwright:%%40%%3D%%3Fx6%%2F%%25%%2B%%23%%3A%%20%%C3%%A9@127.0.0.1:5432/sealwright' > $url`,
      'sealwright-admin migrate',
      'sealwright-admin backup --out /var/backups/sealwright',
      `sed "s|.*sealwright:\\(.*\\)@.*|ALTER ROLE sealwright PASSWORD '\\1'|" saved > /tmp/change.sql`,
      'runuser -l postgres -c "psql --quiet -f /tmp/change.sql"; cp -p saved $url; sealwright-admin migrate',
    ].join('\n'),
  },
  {
    promise: 'a line break at the end of a secret file is no part of the secret',
    report: 'goharbor/harbor#1218',
    script: [
      'for name in database-url redis-url jwt-secret; do echo >> /etc/sealwright/secrets/$name; done',
      START,
      STOP,
    ].join('\n'),
  },
  {
    promise: 'a command works in a directory that the account cannot read',
    report: 'go-gitea/gitea#5315',
    script: 'mkdir -m 700 closed && cd closed && sealwright-admin backup --out /var/backups/sealwright',
  },
  {
    promise: 'a backup fails and names the file when part of the token cannot be read',
    report: 'go-gitea/gitea#8939',
    script: [
      'file=$(find /var/lib/sealwright/tokens -name "*.object" | head -n 1); chown root:root $file; chmod 600 $file',
      'before=$(ls /var/backups/sealwright | wc -l)',
      'if sealwright-admin backup --out /var/backups/sealwright > said 2>&1; then cat said; exit 1; fi',
      'cat said; grep -q "$(basename $file)" said && test "$(ls /var/backups/sealwright | wc -l)" = "$before"',
      'chown sealwright:sealwright $file',
    ].join('\n'),
  },
  {
    promise: 'a backup of root that the account cannot read is refused with the remedy',
    report: 'github/backup-utils#588',
    script: [
      'cp -a $(ls -d /var/backups/sealwright/*Z | tail -n 1) /var/backups/sealwright/copy && chown -R root: /var/backups/sealwright/copy',
      'if sealwright-admin backup verify /var/backups/sealwright/copy > said 2>&1; then cat said; exit 1; fi',
      'cat said; grep -qi "chown" said; rm -r /var/backups/sealwright/copy',
    ].join('\n'),
  },
  {
    promise: 'a migration that was killed is run again',
    report: 'goauthentik/authentik#20667',
    script: [
      'runuser -l postgres -c "createdb --owner sealwright --encoding UTF8 --template template0 other"',
      'url=/etc/sealwright/secrets/database-url; cp -p $url saved; sed -i "s|/sealwright$|/other|" $url',
      'for wait in 0.8 1.1 1.4 1.8 2.5; do timeout --signal=KILL $wait sealwright-admin migrate || true; done',
      'sealwright-admin migrate && sealwright-admin migrate | tee /dev/stderr | grep -q "up to date"; cp -p saved $url',
    ].join('\n'),
  },
  {
    promise: 'a password that begins with a dash and has quotes is set from standard input, and signs in',
    report: 'MichaIng/DietPi#4199, EnterpriseDB/edb-installers#293',
    script: [
      `printf '%s\\n' '-p "secret'"'"' \\\\ of nobody$' > password`,
      'sealwright-admin user reset-password ann@test.example < password',
      START,
      `jq -Rn '{email: "ann@test.example", password: input}' < password | curl --silent --show-error --fail --json @- http://127.0.0.1:9090/api/auth/login | jq -e .access_token > /dev/null`,
      STOP,
    ].join('\n'),
  },
  {
    promise: 'setup repeated keeps every secret and creates no second administrator',
    report: 'hashicorp/vault#31738: a second run that generates again',
    script: [
      'sha256sum /etc/sealwright/secrets/* /etc/sealwright/pkcs11-pin > before',
      'sealwright-admin setup --public-url https://other.example --admin ann@test.example --database-url local --token softhsm > said 2>&1 || true',
      'cat said; sha256sum --quiet -c before; ! grep -q "Created ann" said; grep -q sign.test.example /etc/sealwright/sealwright.env',
    ].join('\n'),
  },
  {
    promise: 'without PostgreSQL the service waits, says why, and starts when it is there',
    report: 'goauthentik/authentik#9376: containers that restart for ever',
    script: [
      'systemctl stop postgresql; systemctl start sealwright-api; sleep 4',
      'grep -qi "database" /var/log/sealwright-api.log; systemctl is-active sealwright-api',
      `systemctl start postgresql; ${READY}; ${STOP}`,
    ].join('\n'),
  },
];
