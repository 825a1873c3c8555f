import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../scripts/lib/ports.mjs';
import { until } from '../support/until.js';

const RULES = join(import.meta.dirname, '../../deploy/observability/rules.yaml');
const LOOK_SECONDS = 2;
const START_SECONDS = 60;

/** An alert as returned by Prometheus. */
export interface Alert {
  readonly labels: { readonly alertname: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
  readonly state: 'pending' | 'firing';
}

/** A real Prometheus with the rules of deploy/observability, which scrapes the management ports every two seconds. */
export class Prometheus {
  private child: ChildProcess | undefined;
  private port = 0;

  constructor(
    private readonly directory: string,
    private readonly targets: readonly string[],
  ) {}

  async start(): Promise<void> {
    mkdirSync(this.directory, { recursive: true });
    copyFileSync(RULES, join(this.directory, 'rules.yaml'));
    const every = `${LOOK_SECONDS}s`;
    const scrape = {
      job_name: 'sealwright',
      metrics_path: '/metrics',
      static_configs: [{ targets: this.targets }],
    };
    const settings = {
      global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
      rule_files: ['rules.yaml'],
      scrape_configs: [scrape],
    };
    // JSON is valid YAML.
    writeFileSync(join(this.directory, 'prometheus.yml'), JSON.stringify(settings));
    this.port = await freePort();
    const args = [
      `--config.file=${join(this.directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(this.directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${this.port}`,
    ];
    this.child = spawn('prometheus', args, { cwd: this.directory, stdio: 'ignore' });
    await until('Prometheus', START_SECONDS, async () => (await this.ask('/-/ready')).ok);
  }

  /** Returns the alerts that are currently firing. */
  async firing(): Promise<Alert[]> {
    const response = await this.ask('/api/v1/alerts');
    const { data } = (await response.json()) as { data: { alerts: Alert[] } };
    return data.alerts.filter(({ state }) => state === 'firing');
  }

  async stop(): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }

  private ask(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.port}${path}`, { signal: AbortSignal.timeout(2000) });
  }
}
