import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../scripts/lib/ports.mjs';
import { openStage } from '../test/support/stage.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- image
 * Builds docker/Dockerfile unchanged, on base images made of Debian packages and the Node.js of this checkout, and runs the image with a read-only root file
 * system, as the image's account, without capabilities. The service in the image must migrate the database, sign and serve the console. Requires root.
 */
const ROOT = join(import.meta.dirname, '..');
const BASE = 'docker.io/library/node:24-bookworm-slim';
const IMAGE = 'localhost/sealwright-proof';
const MAX_ADDED_MB = 250;
const PIN = '12345678';

const findings = new Findings(true);
const { say, check, conclude } = findings;
// podman refuses long paths, and overlays require a real file system.
const place = mkdtempSync('/var/tmp/sealwright-image-');
const podman = (...args: string[]) =>
  execFileSync('podman', ['--root', join(place, 'storage'), '--runroot', join(place, 'run'), ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  });
const megabytesIn = (folder: string) =>
  Number(execFileSync('du', ['-sxm', folder], { encoding: 'utf8' }).split('\t')[0]);

/** Creates a minimal Debian system that, like the official image, contains Node.js, npm and the account `node`. */
function importBase(): void {
  const root = join(place, 'base');
  execFileSync('mmdebstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', root], { stdio: 'pipe' });
  const node = join(ROOT, `node_modules/node-linux-${process.arch}`);
  cpSync(join(node, 'bin/node'), join(root, 'usr/local/bin/node'));
  cpSync(join(node, 'include'), join(root, 'usr/local/include'), { recursive: true });
  const npm = realpathSync(execFileSync('npm', ['root', '-g'], { encoding: 'utf8' }).trim());
  cpSync(join(npm, 'npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
  for (const name of ['npm', 'npx'])
    execFileSync('ln', ['-s', `../lib/node_modules/npm/bin/${name}-cli.js`, join(root, 'usr/local/bin', name)]);
  execFileSync('chroot', [root, 'useradd', '--uid', '1000', '--user-group', '--create-home', 'node']);
  useNetworkOfThisMachine(root);
  const archive = join(place, 'base.tar');
  execFileSync('tar', ['-C', root, '-cf', archive, '.']);
  podman('import', '--change', 'CMD=["node"]', archive, BASE);
  rmSync(archive);
}

/** Copies this machine's certificates, npm settings and package sources, because access to the registries may depend on these files. */
function useNetworkOfThisMachine(root: string): void {
  cpSync('/etc/ssl/certs/ca-certificates.crt', join(root, 'etc/ssl/certs/ca-certificates.crt'));
  const settings = ['registry', 'replace-registry-host'].map((name) => `${name}=${execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim()}\n`); // prettier-ignore
  writeFileSync(join(root, 'root/.npmrc'), [...settings, 'cafile=/etc/ssl/certs/ca-certificates.crt\n'].join(''));
  for (const file of ['/etc/resolv.conf', '/etc/hosts'])
    if (existsSync(file)) cpSync(file, join(root, file), { dereference: true });
}

/** Runs a command in the image's root file system, which is read-only, with the account and environment defined by the image. */
function run(
  root: string,
  command: readonly string[],
  env: Record<string, string>,
  log = 'inherit' as 'inherit' | 'pipe',
) {
  const state = join(place, 'state');
  const script = [
    'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"',
    'mount --bind "$2" "$1/var/lib/sealwright" && mount -t tmpfs tmpfs "$1/tmp" && mount -t proc proc "$1/proc"',
    'mount -t tmpfs tmpfs "$1/dev" && for d in null random urandom zero; do touch "$1/dev/$d"; mount --bind "/dev/$d" "$1/dev/$d"; done',
    'root=$1; shift 2',
    'exec chroot "$root" setpriv --reuid=1000 --regid=1000 --clear-groups --bounding-set=-all --no-new-privs env -C /app "$@"',
  ].join('\n');
  const inside = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ...imageEnvironment(),
    ...env,
  };
  const variables = Object.entries(inside).map(([name, value]) => `${name}=${value}`);
  return spawn(
    'unshare',
    [
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      'bash',
      '-euc',
      script,
      'run',
      root,
      state,
      ...variables,
      ...command,
    ],
    {
      stdio: ['ignore', log, log],
      env: { PATH: process.env['PATH'] },
    },
  );
}

const imageEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    (JSON.parse(podman('image', 'inspect', '--format', '{{json .Config.Env}}', IMAGE)) as string[]).map((line) => [
      line.slice(0, line.indexOf('=')),
      line.slice(line.indexOf('=') + 1),
    ]),
  );

function ended(child: ReturnType<typeof run>): Promise<number> {
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}

async function untilAnswer(url: string, seconds: number): Promise<Response | undefined> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(50)) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok === true) return answer;
  }
  return undefined;
}

const stage = await openStage();
try {
  say('making the base image …');
  importBase();
  const commit = execFileSync('git', ['-C', ROOT, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  say('building docker/Dockerfile …');
  const limits = ['--isolation', 'chroot', '--ulimit', 'nofile=4096:4096', '--network', 'host', '--pull=never'];
  podman(
    'build',
    ...limits,
    '--build-arg',
    `SOURCE_COMMIT=${commit}`,
    '-f',
    join(ROOT, 'docker/Dockerfile'),
    '-t',
    IMAGE,
    ROOT,
  );
  const root = podman('image', 'mount', IMAGE).trim();
  const added = megabytesIn(root) - megabytesIn(join(place, 'base'));
  check(`the image adds at most ${MAX_ADDED_MB} MB to its base`, added <= MAX_ADDED_MB, `${added} MB`);
  const user = podman('image', 'inspect', '--format', '{{.Config.User}}', IMAGE).trim();
  check('it runs as an account without privileges', user === 'node', user);

  mkdirSync(join(place, 'state'));
  writeFileSync(join(place, 'state/pin'), PIN);
  execFileSync('chown', ['-R', '1000:1000', join(place, 'state')]);
  const port = await freePort();
  const settings = {
    ...Object.fromEntries(['SVC_DATABASE_URL', 'SVC_REDIS_URL'].map((name) => [name, stage.settings[name] ?? ''])),
    SVC_PKCS11_PIN_FILE: '/var/lib/sealwright/pin',
    PKCS11_SO_PIN_FILE: '/var/lib/sealwright/pin',
    SVC_PORT: String(port),
    SVC_HOST: '127.0.0.1',
    SVC_ADMIN_EMAIL: 'admin@sealwright.local',
    SVC_ADMIN_PASSWORD: 'a password of the proof',
  };
  check('init-token creates the token', (await ended(run(root, ['entrypoint.sh', 'init-token'], settings))) === 0);
  check('sealwright-admin migrates', (await ended(run(root, ['sealwright-admin', 'migrate'], settings))) === 0);

  const began = performance.now();
  const service = run(root, ['entrypoint.sh', 'all'], settings);
  const ready = await untilAnswer(`http://127.0.0.1:${port}/actuator/health/readiness`, 120);
  const seconds = (performance.now() - began) / 1000;
  check('it is ready on a read-only root file system', ready !== undefined, `${seconds.toFixed(1)} s`);
  const page = await fetch(`http://127.0.0.1:${port}/`);
  check('it serves the console', (await page.text()).includes('<title>Sealwright</title>'));
  check('it signs', await signs(`http://127.0.0.1:${port}`, settings));
  const version = spawnSync('chroot', [root, '/usr/local/bin/node', '/app/dist/main.js', '--version'], {
    encoding: 'utf8',
  });
  check('it names its commit', version.stdout.trim().endsWith(`+${commit.slice(0, 12)}`), version.stdout.trim());
  const written = readFileSync(join(place, 'state/softhsm2.conf'), 'utf8');
  check('its token is in the volume', written.includes('/var/lib/sealwright/tokens'));
  const stopped = performance.now();
  // Signals the first process of the container, as `podman stop` does, because unshare itself ignores the signal.
  process.kill(Number(readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, 'utf8')), 'SIGTERM');
  const code = await ended(service);
  check('it ends with 0 when it is told to stop', code === 0, `${Math.round(performance.now() - stopped)} ms`);
  podman('image', 'unmount', IMAGE);
} finally {
  await stage.close();
  spawnSync('podman', ['--root', join(place, 'storage'), '--runroot', join(place, 'run'), 'image', 'unmount', '--all']);
  rmSync(place, { recursive: true, force: true, maxRetries: 3 });
}
conclude('The image is built as it is, starts read-only and unprivileged, and signs.');

async function signs(
  url: string,
  { SVC_ADMIN_EMAIL: email, SVC_ADMIN_PASSWORD: password }: Record<string, string>,
): Promise<boolean> {
  const post = async (path: string, body: object, token?: string) => {
    const headers = {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as Record<string, unknown>;
  };
  const { access_token: token } = await post('/api/auth/login', { email, password });
  await post('/api/v1/signing-keys', { name: 'default', type: 'ec-p256' }, String(token));
  const digest = Buffer.alloc(32, 7).toString('base64');
  const { status } = await post('/api/v1/sign/digest', { digest, algorithm: 'sha256' }, String(token));
  return status === 'SIGNED';
}
