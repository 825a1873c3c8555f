import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../src/platform/config/settings.js';
import { has } from '../support/peers.js';

/** Checks of the compose, Kubernetes and systemd files. These checks need no container engine. */
const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const files = ['deploy', 'docker'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('secrets'))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1)),
);

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: string[];
  readonly securityContext: object;
  readonly resources: { readonly limits: object };
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe?: { readonly httpGet: { readonly path: string } };
  readonly readinessProbe?: { readonly httpGet: { readonly path: string } };
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: string[] } } };
}
interface PodSpec {
  readonly enableServiceLinks: boolean;
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext: object;
  readonly containers: [Container];
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  readonly data?: Record<string, string>;
  readonly spec: {
    readonly replicas?: number;
    readonly minAvailable?: number;
    readonly selector?: { readonly matchLabels?: Record<string, string> };
    readonly template?: { readonly metadata: { readonly labels: Record<string, string> }; readonly spec: PodSpec };
  };
}

const manifests = readdirSync(join(ROOT, 'deploy/kubernetes'))
  .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
  .flatMap((name) => loadAll(read(`deploy/kubernetes/${name}`)) as Manifest[]);
const pods = manifests.flatMap(({ metadata, spec }) =>
  spec?.template === undefined ? [] : [{ name: metadata.name, pod: spec.template.spec }],
);

const compareTexts = (one = '', other = '') => one.localeCompare(other);

describe('every SVC_… name in deploy/ and docker/', () => {
  it('is a setting, or its file variant', () => {
    const unknown = files.flatMap((file) =>
      [...read(file).matchAll(/\bSVC_[A-Z0-9_]+/g)]
        .map(([name]) => name)
        .filter((name) => name !== 'SVC_' && !(name in SETTINGS) && !(name.replace(/_FILE$/, '') in SETTINGS))
        .map((name) => `${file}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });
});

it('every proxy trusted in deploy/ and docker/ is given by address, not by network', () => {
  const trusted = files.flatMap((file) =>
    [...read(file).matchAll(/SVC_TRUST_PROXY[=:]\s*["']?([\d.:a-f/,]+)/g)].map(([, value = '']) => value),
  );
  expect(trusted.length).toBeGreaterThan(0);
  const networks = trusted.flatMap((value) => value.split(',')).filter((one) => isIP(one) === 0);
  expect(networks).toEqual([]);
});

describe('the Kubernetes manifests', () => {
  it.runIf(has('kubectl'))('are built by kustomize', () => {
    const { status, stderr, stdout } = spawnSync('kubectl', ['kustomize', join(ROOT, 'deploy/kubernetes')], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect((loadAll(stdout) as Manifest[]).map(({ kind }) => kind).toSorted(compareTexts)).toEqual([
      'ConfigMap',
      'Deployment',
      'Deployment',
      'Job',
      'Namespace',
      'NetworkPolicy',
      'NetworkPolicy',
      'NetworkPolicy',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'PodDisruptionBudget',
      'Service',
    ]);
  });

  it.each(pods)('$name runs unprivileged, with a read-only root file system and a memory limit', ({ pod }) => {
    const [container] = pod.containers;
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.resources.limits).toMatchObject({ memory: expect.stringMatching(/Mi$/) as string });
    expect(pod).toMatchObject({ enableServiceLinks: false, automountServiceAccountToken: false });
  });

  it('open the metrics port and a liveness probe in every long-running process', () => {
    const [, port] = /SVC_MANAGEMENT_PORT=(\d+)/.exec(read('deploy/kubernetes/kustomization.yaml')) ?? [];
    for (const { pod } of pods.filter(({ name }) => name !== 'migrate')) {
      const [{ ports, livenessProbe }] = pod.containers;
      expect(ports).toContainEqual({ name: 'management', containerPort: Number(port) });
      expect(livenessProbe?.httpGet.path).toBe('/actuator/health/liveness');
    }
  });

  it('give a process more time to stop than it needs', () => {
    const literals = (
      loadAll(read('deploy/kubernetes/kustomization.yaml')) as { configMapGenerator: { literals: string[] }[] }[]
    )[0];
    const value = (name: string) =>
      Number(literals?.configMapGenerator[0]?.literals.find((line) => line.startsWith(`${name}=`))?.split('=')[1]);
    for (const { name, pod } of pods.filter(
      ({ pod: { terminationGracePeriodSeconds: grace } }) => grace !== undefined,
    )) {
      const sleep = Number(pod.containers[0].lifecycle?.preStop.exec.command[1] ?? 0);
      expect(`${name} ${(pod.terminationGracePeriodSeconds ?? 0) > sleep + value('SVC_STOP_SECONDS')}`).toBe(
        `${name} true`,
      );
    }
    expect(value('SVC_DRAIN_SECONDS')).toBeLessThanOrEqual(value('SVC_STOP_SECONDS') / 2);
  });

  it('select the intended pods, and never allow all of them to be unavailable', () => {
    const labels = manifests.flatMap(({ spec }) => spec?.template?.metadata.labels['app.kubernetes.io/name'] ?? []);
    for (const { spec } of manifests.filter(({ kind }) => kind === 'PodDisruptionBudget')) {
      const wanted = spec.selector?.matchLabels?.['app.kubernetes.io/name'] ?? '';
      expect(labels).toContain(wanted);
      const deployment = manifests.find(
        ({ kind, spec: deployed }) =>
          kind === 'Deployment' && deployed?.template?.metadata.labels['app.kubernetes.io/name'] === wanted,
      );
      expect(spec.minAvailable).toBeLessThan(deployment?.spec.replicas ?? 0);
    }
  });
});

describe('the systemd units', () => {
  const units = files.filter((file) => file.endsWith('.service'));

  it('exist for each role', () => {
    expect(units.map((file) => file.split('/').at(-1)).toSorted(compareTexts)).toEqual([
      'sealwright-api.service',
      'sealwright-migrate.service',
      'sealwright-worker.service',
    ]);
  });

  it.runIf(has('systemd-analyze')).each(units)('%s is valid', (file) => {
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(ROOT, file)], { encoding: 'utf8' });
    // The example's programs and accounts do not exist on this machine.
    const said = stderr
      .split('\n')
      .filter(
        (line) => line.includes(file.split('/').at(-1) ?? '') && !/not executable|No such file|unit file/.test(line),
      );
    expect(said).toEqual([]);
  });
});

describe('sealwright-admin next to the units', () => {
  const script = join(ROOT, 'deploy/systemd/sealwright-admin');

  /** Runs the script with a fake systemd-run that prints its arguments. */
  function asked(...args: string[]): string {
    const place = mkdtempSync(join(tmpdir(), 'sealwright-admin-'));
    writeFileSync(join(place, 'systemd-run'), `#!/bin/sh\nprintf '<%s>' "$@"\n`, { mode: 0o755 });
    const env = { PATH: `${place}:${process.env['PATH']}` };
    return spawnSync('sh', [script, ...args], { env, encoding: 'utf8' }).stdout;
  }

  it('runs with the account and settings of the units', () => {
    const said = asked('doctor');
    for (const word of [
      '--uid=sealwright',
      '--property=EnvironmentFile=/etc/sealwright/sealwright.env',
      '--pipe',
      '--wait',
    ])
      expect(said).toContain(`<${word}>`);
    expect(read('deploy/systemd/sealwright-api.service')).toContain('EnvironmentFile=/etc/sealwright/sealwright.env');
  });

  it('passes its arguments unchanged', () => {
    expect(asked('backup', '--out', '/a b', '$(id)')).toMatch(/<sealwright-admin><backup><--out><\/a b><\$\(id\)>$/);
  });

  it('knows every secret of the units', () => {
    const units = read('deploy/systemd/sealwright-api.service');
    const secrets = [...units.matchAll(/^LoadCredential=([\w-]+):/gm)].map(([, name = '']) => name);
    const said = read('deploy/systemd/sealwright-admin');
    expect(secrets.length).toBeGreaterThan(3);
    expect(secrets.filter((name) => !said.includes(` ${name}`))).toEqual([]);
  });
});

/** Applies YAML 1.1 merge keys, which YAML 1.2 leaves to the reader. */
const merged = (service: Record<string, unknown> = {}) => ({ ...(service['<<'] as object), ...service });

describe('the compose file', () => {
  it('gives every container of the service limits, no capabilities and no privileges', () => {
    const { services } = (
      loadAll(read('docker/compose.yml')) as { services: Record<string, Record<string, unknown>> }[]
    )[0] ?? { services: {} };
    for (const name of ['api', 'worker', 'migrate'])
      expect(merged(services[name])).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        mem_limit: '1536m',
      });
  });

  it('has health checks made of strings only', () => {
    const { services } = (
      loadAll(read('docker/compose.yml')) as { services: Record<string, { healthcheck?: { test: unknown[] } }> }[]
    )[0] ?? { services: {} };
    const words = Object.values(services).flatMap(({ healthcheck }) => healthcheck?.test ?? []);
    expect(words.filter((word) => typeof word !== 'string')).toEqual([]);
  });
});
