import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { ScanGap } from '../model/host.entity.js';

const MAX_HOSTS = 20;
const MAX_PATHS = 5;

interface HostWithGap {
  readonly name: string;
  readonly gap: ScanGap;
}

/** ScanGapsService reports the hosts that the last deep scan could not read completely. These hosts may accept keys that the service does not know. */
@Injectable()
export class ScanGapsService {
  constructor(private readonly db: DataSource) {}

  /**
   * Returns one sentence per host, sorted by name. If hosts were omitted, a final sentence mentions them. Returns an empty array if the last scan of every host
   * was complete.
   */
  async sentences(): Promise<string[]> {
    const hosts: HostWithGap[] = await this.db.query(
      `SELECT name, scan_gap AS gap FROM host WHERE scan_gap IS NOT NULL ORDER BY name LIMIT ${MAX_HOSTS + 1}`,
    );
    const named = hosts.slice(0, MAX_HOSTS).map(sentenceOf);
    return hosts.length > MAX_HOSTS ? [...named, 'The last scans of other hosts were also incomplete.'] : named;
  }
}

function sentenceOf({ name, gap }: HostWithGap): string {
  const { code, paths, lowConfidence } = gap;
  if (code !== undefined) return `Host ${name}: the last scan could not log in (${code}).`;
  const shown = paths.slice(0, MAX_PATHS).join(', ');
  const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more files` : '';
  const unread = paths.length > 0 ? `could not read ${shown}${more}` : '';
  const unasked = lowConfidence ? 'could not query sshd for the paths of its authorized_keys files' : '';
  return `Host ${name}: the last scan ${[unread, unasked].filter((part) => part !== '').join(' and ')}.`;
}
