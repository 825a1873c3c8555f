import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { has } from '../support/peers.js';
import { productSources } from './product-sources.js';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'deploy/observability');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook: string };
}

const rules = (load(read('deploy/observability/rules.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const dashboard = JSON.parse(read('deploy/observability/dashboard.json')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};

/** Names of metrics created in the sources. Each histogram adds three names. */
const made = new Set(
  productSources().flatMap(({ tree: { text } }) => [
    ...[...text.matchAll(/name: 'sealwright_(\w+)'/g)].map(([, name]) => name ?? ''),
    ...[...text.matchAll(/this\.(?:add|fromState)\(\s*'(\w+)'/g)].map(([, name]) => name ?? ''),
  ]),
);
const isMade = (name: string) =>
  made.has(name) || made.has(name.replace(/_(?:bucket|count|sum)$/, '')) || name.startsWith('process_');
const metricsIn = (expression: string) => [...expression.matchAll(/\bsealwright_(\w+)/g)].map(([, name]) => name ?? '');

describe('the alert rules', () => {
  it('have an existing runbook page each', () => {
    const headings = (file: string) =>
      [...read(file).matchAll(/^## (.+)$/gm)].flatMap(([, text = '']) => text.split(', '));
    const missing = rules.filter(({ annotations: { runbook } }) => {
      const [file = '', anchor] = runbook.split('#');
      return anchor !== undefined && !headings(file).includes(anchor);
    });
    expect(missing.map(({ alert }) => alert)).toEqual([]);
  });

  it('are named on their runbook pages', () => {
    const pages = read('docs/runbook.md');
    const unnamed = rules.filter(
      ({ alert, annotations }) => annotations.runbook.includes('runbook.md') && !pages.includes(alert),
    );
    expect(unnamed.map(({ alert }) => alert)).toEqual([]);
  });

  it('and the dashboard use only metrics that the service exposes', () => {
    const asked = [
      ...rules.map(({ expr }) => expr),
      ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ];
    expect(asked.flatMap(metricsIn).filter((name) => !isMade(name))).toEqual([]);
  });

  it.runIf(has('promtool'))('fire in each drill within a minute, and never in normal operation', () => {
    const promtool = (...args: string[]) => spawnSync('promtool', args, { cwd: FOLDER, encoding: 'utf8' });
    for (const args of [
      ['check', 'rules', 'rules.yaml'],
      ['check', 'config', '--syntax-only', 'prometheus.yml'],
      ['test', 'rules', 'rules.test.yaml'],
    ]) {
      const { status, stderr, stdout } = promtool(...args);
      expect(`${args.join(' ')}: ${status === 0 ? 'fine' : stdout + stderr}`).toBe(`${args.join(' ')}: fine`);
    }
  });
});
