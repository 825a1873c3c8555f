import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Machine } from './install/machine.js';
import { PACKAGE_CASES } from './install/package-cases.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- install [--release bookworm|trixie] [--packages DIRECTORY]
 * Follows docs/install.md command by command on an empty Debian, and runs the step about a new machine on a second machine. Steps 1 and 2 have network access;
 * the other steps have only the loopback interface. Only systemctl is replaced, because systemd cannot run here; the replacement starts units from their files.
 * Requires root. `--packages` uses packages that are already built.
 */
const { values } = parseArgs({
  options: { release: { type: 'string', default: 'bookworm' }, packages: { type: 'string' } },
});
const ROOT = join(import.meta.dirname, '..');
const PAGE = readFileSync(join(ROOT, 'docs/install.md'), 'utf8');
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const NEXT = '99.0.0';
const NAME = 'sign.test.example';
const ADMIN = 'ann@test.example';
const PASSWORD = 'seven words that nobody would guess here';

/** Simulates the person who opens the setup link and chooses a password. The page sends the token together with the password. */
const CHOOSE_PASSWORD = [
  `RESET=$(grep -o 'https://[^ ]*' setup.out | tail -n 1 | sed 's/.*[#=]//')`,
  `curl --silent --show-error --fail --cacert /etc/nginx/sealwright.pem --json "{\\"token\\":\\"$RESET\\",\\"password\\":\\"${PASSWORD}\\"}" https://$NAME/api/auth/password/reset`,
].join('\n');

/** Commands that show that the old password and the old key work on the new machine. */
const SIGN_AGAIN = [
  `export URL=https://$NAME CURL_CA_BUNDLE=/etc/nginx/sealwright.pem`,
  `TOKEN=$(curl --silent --fail --json '${JSON.stringify({ email: ADMIN, password: PASSWORD })}' $URL/api/auth/login | jq -r .access_token)`,
  blocksOf('6. First signature')[1] ?? '',
].join('\n');

const findings = new Findings(true);
const { say, check, conclude } = findings;
const place = mkdtempSync(join(tmpdir(), 'sealwright-install-'));

try {
  say('building the packages …');
  const packages = values.packages === undefined ? pack() : packagesIn(values.packages);
  say(`making an empty ${values.release} …`);
  const machine = Machine.make(place, 'one', values.release);
  machine.take(packages);
  say('following steps 1 and 2 …');
  succeeds('steps 1 and 2 succeed', machine.install(scriptOf(['1. Names', '2. Packages'])));
  // The machine is copied at this point, because a new machine is in the same state after steps 1 and 2.
  const other = machine.copy('two');
  say('following steps 3 to 10 …');
  const said = succeeds(
    'every command up to the restore succeeds',
    machine.isolated(scriptOf(titles().filter((title) => !/^(2|11)\./.test(title)))),
  );
  check('setup prints a link for the administrator', said('3. Setup').includes(`https://${NAME}/`));
  check('doctor finds nothing bad after the start', /^0 bad, /m.test(said('4. Start')), said('4. Start').trim());
  check('openssl verifies the first signature', said('6. First signature').includes('Verified OK'));
  check('openssl verifies what the client signed with an API key', said('7. A pipeline').includes('Verified OK'));
  check('the backup is whole', said('8. Backup').includes('files are unchanged'));
  check('the upgrade runs the new version', said('9. Upgrade').includes(`${NEXT}+`));
  check('the restored service finds nothing bad', /^0 bad, /m.test(said('10. Restore, on this machine')));

  say('restoring on a new machine …');
  const saved = ['sealwright-etc.tar.gz', 'sealwright-backup.tar.gz', 'key.pem'];
  other.take(saved.map((name) => join(machine.root, 'root', name)));
  const later = succeeds(
    'every command of the restore succeeds',
    other.isolated(
      [
        scriptOf(['1. Names', '11. Restore, on a new machine', '4. Start', '5. TLS']),
        `echo '=== signs'`,
        SIGN_AGAIN,
      ].join('\n'),
    ),
  );
  check('the new machine finds nothing bad', /^0 bad, /m.test(later('4. Start')), later('4. Start').trim());
  check('it signs with the old key, after a sign-in by the old password', later('signs').includes('Verified OK'));

  say('what package managers and operators do besides …');
  for (const { promise, script } of PACKAGE_CASES) {
    const start = `set -euo pipefail; exec 2>&1; cd /root; export VERSION=${VERSION} NEXT=${NEXT}; systemctl enable --now postgresql redis-server`;
    const { code, out } = other.isolated(`${start}\n${script}`);
    check(promise, code === 0, code === 0 ? '' : out.slice(-1500));
  }
} finally {
  rmSync(place, { recursive: true, force: true, maxRetries: 3 });
}
conclude('The page leads from an empty Debian to a signature, an upgrade, and a restore on this and on a new machine.');

/** Checks that a script succeeded. @returns a function that returns the output of a step */
function succeeds(what: string, { code, out }: { code: number; out: string }): (title: string) => string {
  check(what, code === 0, code === 0 ? '' : out.slice(-3000));
  const parts = out.split(/^=== (.+)$/m);
  return (title) => parts[parts.indexOf(title) + 1] ?? '';
}

/** Builds the packages as release engineers do. The later version is the same build with a higher version number. */
function pack(): string[] {
  const to = join(place, 'packages');
  const from = join(ROOT, 'dist/packages');
  mkdirSync(to);
  const make = (...args: string[]) => execFileSync(process.execPath, args, { cwd: ROOT, stdio: 'pipe' });
  make('scripts/client-package.mjs');
  for (const version of [VERSION, NEXT]) make('scripts/server-package.mjs', '--version', version);
  for (const file of packagesIn(from)) renameSync(file, join(to, basename(file)));
  return packagesIn(to);
}

function packagesIn(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.deb'));
  return names.map((name) => join(directory, name));
}

function titles(): string[] {
  return [...PAGE.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title);
}

function blocksOf(title: string): string[] {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${title}\n`));
  if (section === undefined) throw new Error(`docs/install.md has no step "${title}"`);
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
}

/**
 * Combines the commands of these steps into a script. Simulates the person's input: names other than those in step 1, and a password that is chosen through the
 * link printed by setup and entered where the page asks for it.
 */
function scriptOf(steps: readonly string[]): string {
  const lines = ['set -euo pipefail', 'exec 2>&1', 'cd /root'];
  for (const title of steps) {
    lines.push(`echo '=== ${title}'`);
    if (title.startsWith('6. ')) lines.push(CHOOSE_PASSWORD);
    lines.push(...blocksOf(title).map(played));
  }
  return lines.join('\n');
}

function played(block: string): string {
  return block
    .replace(/^export VERSION=.*$/m, `export VERSION=${VERSION}`)
    .replace(/^export NAME=.*$/m, `export NAME=${NAME}`)
    .replace(/^export ADMIN=.*$/m, `export ADMIN=${ADMIN}`)
    .replace(/^export NEXT=.*$/m, `export NEXT=${NEXT}`)
    .replace(/^read -rsp .* PASSWORD$/m, `PASSWORD='${PASSWORD}'`)
    .replace(/^(sealwright-admin setup --public-url .*)$/m, '$1 | tee setup.out');
}
