import { execFile } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GITHUB, GITLAB, KUBERNETES } from '../fakes/workload-claims.js';
import { WorkloadIssuer } from '../fakes/workload-issuer.js';
import { PEERS_HERE } from '../auth/people.js';
import { newTrust, trustIssuer } from '../auth/workload-calls.js';
import type { Service } from '../support/service.js';
import { signaturesFound } from '../support/dsse.js';
import { type PublishedKey, publishedKey, verifies } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const ROOT = join(import.meta.dirname, '../../integrations');
const text = (file: string) => readFileSync(join(ROOT, file), 'utf8');
/** Groovy in the version used by Jenkins. */
const GROOVY = '/usr/share/java/groovy-all.jar';
const CLIENT = join(import.meta.dirname, '../../dist/sealwright.js');
const SCRIPT = text('jenkins/resources/sealwright-sign.sh');

const issuer = new WorkloadIssuer();
let stage: Stage;
let service: Service;
let key: PublishedKey;
let apiKey: string;
let place: string;
let bin: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ settings: PEERS_HERE });
  await issuer.start();
  const here = { service, key: apiKey };
  const { id } = await trustIssuer(here, { issuer: issuer.issuer });
  const subjects = [GITHUB.sub, GITLAB.sub, KUBERNETES.sub, 'https://jenkins.example/job/app/'];
  await newTrust(here, id, {
    audience: service.url,
    conditions: [{ claim: 'sub', values: subjects }],
    keys: ['default'],
  });
  key = await publishedKey(service, apiKey, 'default');
  place = mkdtempSync(join(tmpdir(), 'sealwright-pipeline-'));
  // Installs the client as the package does.
  bin = join(place, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'sealwright'), `#!/bin/sh\nexec '${process.execPath}' '${CLIENT}' "$@"\n`, { mode: 0o755 });
});
afterAll(async () => {
  rmSync(place, { recursive: true });
  await issuer.stop();
  await stage.close();
});

interface Ended {
  readonly code: number;
  readonly said: string;
}

/** Runs a program as a CI runner does: in the workspace and with only the given environment. */
function run(command: string, args: string[], env: Record<string, string>): Promise<Ended> {
  const PATH = `${bin}:${process.env['PATH']}`;
  return new Promise((resolve) =>
    execFile(command, args, { cwd: place, env: { PATH, HOME: place, ...env } }, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, said: out + err }),
    ),
  );
}

function shell(script: string, env: Record<string, string>): Promise<Ended> {
  const file = join(place, 'step.sh');
  writeFileSync(file, script);
  chmodSync(file, 0o755);
  return run('sh', ['-e', file], env);
}

const file = (name: string) => {
  writeFileSync(join(place, name), `the content of ${name}`);
  return name;
};
const isSigned = (name: string) => verifies(`the content of ${name}`, key, readFileSync(join(place, `${name}.sig`)));

describe('GitHub Actions', () => {
  interface Action {
    readonly inputs: Record<string, { readonly default?: string }>;
    readonly runs: { readonly steps: { readonly run: string; readonly env: Record<string, string> }[] };
  }
  const action = load(text('github-action/action.yml')) as Action;
  /** Runs the step with its expressions evaluated as in the runner, with defaults for missing inputs. */
  const started = (given: Record<string, string>, more: Record<string, string> = issuer.jobEnvironment) => {
    const [step] = action.runs.steps;
    const values: Record<string, string | undefined> = {
      'github.run_id': GITHUB.run_id,
      'github.action_path': join(ROOT, 'github-action'),
    };
    for (const [name, { default: usual = '' }] of Object.entries(action.inputs))
      values[`inputs.${name}`] = given[name] ?? usual;
    const replaced = (value: string) =>
      value.replaceAll(/\$\{\{ ([\w.]+) \}\}/g, (_, name: string) => values[name] ?? '');
    const env = Object.fromEntries(Object.entries(step?.env ?? {}).map(([name, value]) => [name, replaced(value)]));
    return shell(step?.run ?? '', { ...env, GITHUB_OUTPUT: join(place, 'output'), ...more });
  };

  it('signs several files and attests provenance with the run token', async () => {
    issuer.claims = { ...GITHUB };
    writeFileSync(join(place, 'output'), '');
    const files = [file('a.txt'), file('b.txt')];
    const ended = await started({ url: service.url, key: 'default', files: files.join('\n'), provenance: 'default' });
    expect(ended).toMatchObject({ code: 0 });
    expect(files.map(isSigned)).toEqual([true, true]);
    const bundle = JSON.parse(readFileSync(join(place, 'provenance.sigstore.json'), 'utf8'));
    const statement = JSON.parse(Buffer.from(bundle.dsseEnvelope.payload, 'base64').toString());
    expect(signaturesFound(bundle.dsseEnvelope, key.publicKey)).toBe(1);
    expect(statement.subject.map(({ name }: { name: string }) => name)).toEqual(files);
    const outputs = readFileSync(join(place, 'output'), 'utf8');
    expect(outputs).toMatch(/signatures<<END-[\w-]+\na\.txt\.sig\nb\.txt\.sig\n/);
    expect(outputs).toMatch(/^provenance=provenance\.sigstore\.json$/m);
  });

  it('fails with the reason for a run that no trust accepts, and without the token permission', async () => {
    issuer.claims = { ...GITHUB, sub: 'repo:octo-org/other:ref:refs/tags/v1' };
    const refused = await started({ url: service.url, key: 'default', files: file('c.txt') });
    expect(refused).toMatchObject({
      code: 4,
      said: expect.stringContaining('does not accept the value of the sub claim'),
    });
    const without = await started({ url: service.url, key: 'default', files: 'c.txt' }, {});
    expect(without).toMatchObject({ code: 3, said: expect.stringContaining('id-token: write') });
  });
});

describe('GitLab CI', () => {
  const [spec, jobs] = loadAll(text('gitlab-ci/templates/sign.yml')) as [
    { spec: { inputs: Record<string, { default?: string }> } },
    Record<string, { script: string[]; variables: Record<string, string>; id_tokens: Record<string, { aud: string }> }>,
  ];
  const [job] = Object.values(jobs);

  it('signs with the job ID token in the component', async () => {
    const given: Record<string, string> = {
      url: service.url,
      key: 'default',
      files: `${file('g.txt')}\n${file('h h.txt')}`,
    };
    const interpolated = (value: string) =>
      value.replaceAll(
        /\$\[\[ inputs\.(\w+) \]\]/g,
        (_, name: string) => given[name] ?? spec.spec.inputs[name]?.default ?? '',
      );
    const [name, { aud }] = Object.entries(job?.id_tokens ?? {})[0] ?? ['', { aud: '' }];
    const env: Record<string, string> = { [name]: await issuer.tokenFor(GITLAB, interpolated(aud)) };
    for (const [variable, value] of Object.entries(job?.variables ?? {}))
      env[variable] = interpolated(value).replace('$CI_PIPELINE_ID', GITLAB.pipeline_id);
    expect(await shell((job?.script ?? []).map(interpolated).join('\n'), env)).toMatchObject({ code: 0 });
    expect(['g.txt', 'h h.txt'].map(isSigned)).toEqual([true, true]);
  });
});

describe.skipIf(!existsSync(GROOVY))('Jenkins', () => {
  const step = (options: object, credentials: Record<string, string>) =>
    run('java', ['-cp', GROOVY, 'groovy.ui.GroovyMain', join(import.meta.dirname, '../fakes/jenkins-runner.groovy')], {
      LIBRARY: join(ROOT, 'jenkins'),
      STEP: 'sealwrightSign',
      OPTIONS: JSON.stringify({ url: service.url, key: 'default', identity: 'sealwright', ...options }),
      CREDENTIALS: JSON.stringify(credentials),
      BUILD_TAG: 'jenkins-app-7',
    });

  it('signs several files with the build ID token in the shared library step, without logging the token', async () => {
    const files = [file('j.txt'), file('j j.txt')];
    const sub = 'https://jenkins.example/job/app/';
    const sealwright = await issuer.tokenFor({ sub, build_number: 7 }, service.url);
    const ended = await step({ files }, { sealwright });
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.said).not.toContain(sealwright);
    expect(files.map(isSigned)).toEqual([true, true]);
    // If the step is repeated with the same token, the service reports that the token has already been used.
    expect(await step({ files }, { sealwright })).toMatchObject({
      code: 4,
      said: expect.stringContaining('already been used'),
    });
  });

  it('fails the step with the script error if no trust accepts the build', async () => {
    const sealwright = await issuer.tokenFor({ sub: 'https://jenkins.example/job/other/' }, service.url);
    const ended = await step({ files: [file('k.txt')] }, { sealwright });
    expect(ended.code).toBeGreaterThan(0);
    expect(ended.said).toContain('does not accept the value of the sub claim');
  });
});

describe('Tekton', () => {
  interface Task {
    readonly spec: {
      readonly params: { readonly name: string; readonly default?: string }[];
      readonly steps: { readonly script: string; readonly env: { readonly name: string; readonly value: string }[] }[];
      readonly volumes: { readonly projected: { readonly sources: { readonly serviceAccountToken: object }[] } }[];
    };
  }
  const task = load(text('tekton/sealwright-sign.yaml')) as Task;

  it('signs in the task with the projected token of its service account', async () => {
    const given: Record<string, string> = { url: service.url, key: 'default', files: file('t.txt') };
    const replaced = (value: string) =>
      value
        .replaceAll(
          /\$\(params\.(\w+)\)/g,
          (_, name: string) => given[name] ?? task.spec.params.find((one) => one.name === name)?.default ?? '',
        )
        .replace('$(context.taskRun.name)', 'release-x7f');
    const [step] = task.spec.steps;
    const mounted = join(place, 'token');
    writeFileSync(mounted, await issuer.tokenFor(KUBERNETES, service.url));
    const env = Object.fromEntries((step?.env ?? []).map(({ name, value }) => [name, replaced(value)]));
    const kept = { ...env, SEALWRIGHT_ID_TOKEN_FILE: mounted };
    expect(await shell(replaced(step?.script ?? ''), kept)).toMatchObject({ code: 0 });
    expect(isSigned('t.txt')).toBe(true);
  });
});

describe('the shared script', () => {
  const started = async (variables: Record<string, string>) => {
    const token = await issuer.tokenFor(GITLAB, service.url);
    const env = { SEALWRIGHT_URL: service.url, SEALWRIGHT_KEY: 'default', SEALWRIGHT_ID_TOKEN: token, ...variables };
    return shell(SCRIPT, env);
  };

  it('accepts patterns, names with a leading dash, and the extension of the format', async () => {
    for (const name of ['one.pkg', 'two.pkg', '-three.pkg']) file(name);
    const ended = await started({ SEALWRIGHT_FILES: '*.pkg\n-three.pkg', SEALWRIGHT_FORMAT: 'sigstore-bundle' });
    expect(ended).toMatchObject({ code: 0 });
    for (const name of ['one.pkg', 'two.pkg', '-three.pkg'])
      expect(existsSync(join(place, `${name}.sigstore.json`))).toBe(true);
  });

  it.each([
    ['a file that is not there', 'missing.pkg', 'missing.pkg'],
    ['a pattern that matches nothing', '*.none', 'No file matches "*.none"'],
    ['no file', '', 'does not name a file'],
  ])('exits with the reason for %s, and requests no signature', async (_, names, said) => {
    const ended = await started({ SEALWRIGHT_FILES: names });
    expect(ended.code).toBeGreaterThan(0);
    expect(ended.said).toContain(said);
    expect(ended.said).not.toContain('base64');
  });

  it('reports the remedy for a token that was already used', async () => {
    const token = await issuer.tokenFor(GITLAB, service.url);
    const again = { SEALWRIGHT_ID_TOKEN: token, SEALWRIGHT_FILES: file('again.pkg') };
    expect(await started(again)).toMatchObject({ code: 0 });
    expect(await started(again)).toMatchObject({ code: 4, said: expect.stringContaining('Request a new token from the issuer') }); // prettier-ignore
  });

  it('reports where to get the client if it is missing', async () => {
    const env = {
      SEALWRIGHT_URL: service.url,
      SEALWRIGHT_KEY: 'default',
      SEALWRIGHT_FILES: 'a',
      PATH: '/usr/bin:/bin',
    };
    expect(await shell(SCRIPT, env)).toMatchObject({ code: 2, said: expect.stringContaining('SEALWRIGHT_CLIENT') });
  });
});

describe('the pipeline integrations', () => {
  const files = globSync('**/*.*', { cwd: ROOT });

  it('run the same script', () => {
    const lines = SCRIPT.split('\n')
      .slice(1)
      .map((line) => line.trim())
      .join('\n')
      .trim();
    for (const part of ['gitlab-ci/templates/sign.yml', 'tekton/sealwright-sign.yaml']) {
      const trimmed = text(part)
        .split('\n')
        .map((line) => line.trim())
        .join('\n');
      expect(trimmed.includes(lines) ? [] : [part]).toEqual([]);
    }
  });

  it.each(files)('include no secret in %s, and read none', (name) => {
    const content = text(name);
    expect(content).not.toMatch(/sw_[a-z0-9]/i);
    expect(content).not.toMatch(/secrets\.|client_secret|password|api[-_]?key|private[-_ ]key|SEALWRIGHT_TOKEN\b/i);
    expect(content).not.toMatch(/eyJ[\w-]{10,}/);
  });

  it('include no secret in their guide', () => {
    const guide = readFileSync(join(ROOT, '../docs/pipelines.md'), 'utf8');
    expect(guide).not.toMatch(/sw_[a-z0-9]|secrets\.|client_secret|SEALWRIGHT_TOKEN\b|eyJ[\w-]{10,}/);
  });
});
