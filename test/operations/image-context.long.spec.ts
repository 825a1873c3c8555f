import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { contextFiles } from '../../scripts/lib/image-context.mjs';
import { freePort } from '../../scripts/lib/ports.mjs';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/**
 * Tests the image without a container engine. The files allowed by .dockerignore are copied to one directory. The files copied by the Dockerfile are copied to
 * another directory, where the commands of the Dockerfile build and start the service. Packages are taken from this checkout instead of being installed by `npm
 * ci`.
 */
const ROOT = join(import.meta.dirname, '../..');
const dockerfile = readFileSync(join(ROOT, 'docker/Dockerfile'), 'utf8');
const [build = '', run = ''] = dockerfile.split(/^FROM /m).slice(1);

let stage: Stage;
let place: string;

beforeAll(async () => {
  stage = await openStage();
  place = mkdtempSync(join(tmpdir(), 'sealwright-image-'));
});
afterAll(async () => {
  await stage.close();
  rmSync(place, { recursive: true, force: true });
});

/** Returns the sources and target of each COPY line of a stage, except lines that copy from another stage. */
function copies(text: string): { from: string[]; to: string }[] {
  return [...text.matchAll(/^COPY (?!--from)(?:--\S+ )*(.+)$/gm)].map(([, line = '']) => {
    const parts = line.split(' ');
    return { from: parts.slice(0, -1), to: parts.at(-1) ?? '.' };
  });
}

function copyInto(folder: string, text: string, files: ReadonlySet<string>): void {
  for (const { from, to } of copies(text)) {
    for (const source of from) {
      const chosen = [...files].filter((file) => file === source || file.startsWith(`${source}/`));
      if (chosen.length === 0) throw new Error(`COPY ${source}: .dockerignore lets none of it in`);
      for (const file of chosen) {
        const isWhole = file === source;
        const target = to.startsWith('/')
          ? join(folder, 'root', to, relative(dirname(source), file))
          : join(folder, to, isWhole ? relative(dirname(source), file) : relative(source, file));
        mkdirSync(dirname(target), { recursive: true });
        cpSync(join(ROOT, file), target);
      }
    }
  }
}

it('the image context contains what is required to build the service and the console, which is served at /', async () => {
  const files = new Set(contextFiles(ROOT));
  expect([...files].filter((file) => file.endsWith('.env') || file.includes('secrets/'))).toEqual([]);
  const builder = join(place, 'build');
  copyInto(builder, build, files);
  symlinkSync(join(ROOT, 'node_modules'), join(builder, 'node_modules'));
  symlinkSync(join(ROOT, 'ui/node_modules'), join(builder, 'ui/node_modules'));
  expect(build).toContain('RUN npm run build && test -f dist/ui/index.html');
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: builder, stdio: 'pipe', maxBuffer: 64 * 1024 * 1024 });
  expect(existsSync(join(builder, 'dist/ui/index.html'))).toBe(true);

  const image = join(place, 'image');
  expect(run).toContain('COPY --from=build /runtime ./');
  execFileSync(process.execPath, ['scripts/runtime-tree.mjs', image], { cwd: builder, stdio: 'pipe' });
  // The tree must not contain the build directory's path, so that builds on different machines are identical.
  expect(spawnSync('grep', ['-rlaF', '-e', `${ROOT}/`, '-e', `${place}/`, image], { encoding: 'utf8' }).stdout).toBe(
    '',
  );
  copyInto(image, run, files);
  const port = await freePort();
  const env = { ...process.env, ...stage.settings, NODE_ENV: 'production', SVC_PORT: String(port) };
  const service = spawn('sh', [join(image, 'root/usr/local/bin/entrypoint.sh'), 'all'], {
    cwd: image,
    env,
    stdio: 'pipe',
  });
  let log = '';
  service.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()));
  service.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const answer = await until(
    'an answer at /',
    60,
    () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        (response) => response.status < 500 && response,
        () => undefined,
      ),
    200,
  ).catch((error: Error) => {
    throw new Error(`${error.message}\n${log}`);
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toContain('text/html');
  expect(await answer.text()).toContain('<title>Sealwright</title>');
  service.kill('SIGTERM');
});
