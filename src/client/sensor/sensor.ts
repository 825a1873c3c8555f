import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../api/api-client.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { CLIENT_VERSION } from '../api/client-version.js';
import { deliver, type Delivered, type DeliveryOptions, isPassing, patiently } from './delivery.js';
import { SensorScan, type SensorScanOrder } from './scan.js';
import type { Spool, SpooledScan } from './spool.js';
import { truncate } from '../../platform/text/truncate.js';

const HEARTBEAT = '/api/sensors/heartbeat';

/** Response from the service to a heartbeat. */
interface Orders {
  readonly heartbeatSeconds: number;
  readonly configuration: Settings;
  readonly commands: readonly { readonly id: string; readonly settings: Settings }[];
}

/** Settings are scan settings from a sensor's configuration, a command or the command line. */
export interface Settings {
  readonly source?: unknown;
  readonly paths?: unknown;
  readonly endpoints?: unknown;
  readonly exclude?: unknown;
}

export interface Finished extends Delivered {
  readonly scan: string;
  readonly ok: boolean;
  readonly detail: string;
}

export interface SensorOptions extends DeliveryOptions {
  /** Settings from the command line, which override the settings of the service. */
  readonly settings: Settings;
  readonly storePasswords: readonly string[];
}

/** SensorAgent sends heartbeats, receives commands, scans, and delivers the findings. */
export class SensorAgent {
  private orders: Orders | undefined;

  constructor(
    private readonly api: ApiClient,
    private readonly spool: Spool,
    private readonly options: SensorOptions,
  ) {}

  /** Delivers a spooled scan, then runs the pending commands, or one scan if no commands are pending. */
  async once(): Promise<Finished[]> {
    const beating = this.keepBeating();
    try {
      const done = [await this.resume(), await this.hear()].filter((one) => one !== undefined);
      const commands = this.orders?.commands ?? [];
      for (const { id, settings } of commands) done.push(await this.scan(this.orderOf(settings), id));
      if (commands.length === 0) done.push(await this.scan(this.orderOf({}), undefined));
      return done;
    } finally {
      beating.abort();
    }
  }

  /** Runs permanently, and scans when the service requests a scan. Ends only with an error. */
  async stay(report: (finished: Finished) => void): Promise<never> {
    const left = await this.resume();
    if (left !== undefined) report(left);
    if (this.options.settings.paths !== undefined || this.options.settings.endpoints !== undefined)
      report(await this.working(() => this.scan(this.orderOf({}), undefined)));
    for (;;) {
      await this.hear();
      for (const { id, settings } of this.orders?.commands ?? [])
        report(await this.working(() => this.scan(this.orderOf(settings), id)));
      await sleep((this.orders?.heartbeatSeconds ?? 60) * 1000);
    }
  }

  /** Sends heartbeats while `work` runs, because a scan can take longer than a heartbeat interval. */
  private async working<T>(work: () => Promise<T>): Promise<T> {
    const beating = this.keepBeating();
    try {
      return await work();
    } finally {
      beating.abort();
    }
  }

  private keepBeating(): AbortController {
    const over = new AbortController();
    const beat = async () => {
      for (;;) {
        await sleep((this.orders?.heartbeatSeconds ?? 60) * 1000, undefined, { signal: over.signal, ref: false });
        await this.api.call('POST', HEARTBEAT, { body: { version: CLIENT_VERSION } }).catch(() => undefined);
      }
    };
    beat().catch(() => undefined);
    return over;
  }

  private async resume(): Promise<Finished | undefined> {
    const scan = await this.spool.waiting();
    return scan === undefined ? undefined : this.finish(scan);
  }

  /** Sends a heartbeat and receives commands. If the command line defines the scan, an unavailable service is not an error. */
  private async hear(): Promise<undefined> {
    const call = () => this.beat({});
    const isConfigured = this.options.settings.paths !== undefined || this.options.settings.endpoints !== undefined;
    try {
      this.orders = await (isConfigured ? call() : patiently(this.options, call));
    } catch (error) {
      if (!isConfigured || !isPassing(error)) throw error;
      this.options.note(`${error.message} The scan continues, and its results are delivered later.`);
    }
  }

  private async beat(body: object): Promise<Orders> {
    try {
      return (await this.api.call('POST', HEARTBEAT, {
        body: { version: CLIENT_VERSION, ...body },
        repeatable: true,
      })) as Orders;
    } catch (error) {
      if (!(error instanceof ClientError) || error.status !== 404) throw error;
      throw new ClientError(
        EXIT.denied,
        'This API key does not belong to a sensor. Register a sensor (POST /api/sensors) and use its key.',
        404,
      );
    }
  }

  private async scan(order: SensorScanOrder, command: string | undefined): Promise<Finished> {
    return this.finish(await SensorScan.run(order, this.spool, command));
  }

  /** Delivers a scan, then reports its result. A sensor that is killed before the report reports the result again, and the service records the result once. */
  private async finish(scan: SpooledScan): Promise<Finished> {
    const delivered = await deliver(this.api, this.spool, scan, this.options);
    const refused = delivered.refused + delivered.rejected;
    const detail = truncate(`${scan.detail}${refused === 0 ? '' : `, ${refused} rejected by the service`}`, 1000);
    const ok = scan.ok && delivered.refused === 0;
    const ended = { ok, assets: scan.assets, detail, ...(scan.command === undefined ? {} : { command: scan.command }) };
    await patiently(this.options, () => this.beat({ scan: ended }));
    await this.spool.finish(scan);
    return { scan: scan.id, ok, detail, ...delivered };
  }

  /** Returns the order for a scan. Settings on the command line take precedence over the command, and the command over the sensor's configuration. */
  private orderOf(command: Settings): SensorScanOrder {
    const settings = { ...this.orders?.configuration, ...command, ...given(this.options.settings) };
    const paths = textsOf(settings.paths, 'paths').map((path) => resolve(path));
    const endpoints = textsOf(settings.endpoints, 'endpoints');
    if (paths.length + endpoints.length === 0)
      throw usageError('Nothing to scan. Specify paths or endpoints, or configure "paths" and "endpoints" for the sensor.'); // prettier-ignore
    const source = typeof settings.source === 'string' && settings.source !== '' ? settings.source : hostname();
    return {
      source,
      paths,
      endpoints,
      exclude: textsOf(settings.exclude, 'exclude'),
      storePasswords: this.options.storePasswords,
    };
  }
}

function given(settings: Settings): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

function textsOf(value: unknown, name: string): string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw usageError(`"${name}" must be a list of strings.`);
}
