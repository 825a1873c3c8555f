import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { HostCredentials } from '../credentials/host-credentials.js';
import type { Host } from '../model/host.entity.js';
import { HostsReader } from './hosts.reader.js';
import { type HostChange, HostsService } from './hosts.service.js';

/** Maximum number of hosts per call. The limit exists because the HSM seals a credential for each host. */
const MAX_HOSTS = 200;

export interface ManyHostsOrder {
  readonly change: HostChange;
  readonly dryRun: boolean;
}

/** ManyHostsItem is the result for one host. If the host could not be changed, the item contains the code and detail of the Problem. */
export interface ManyHostsItem extends Pick<Host, 'id' | 'name'> {
  readonly code?: string;
  readonly detail?: string;
}

/** ManyHosts changes many hosts in one call. Each host is changed separately, as by `HostsService.update`. */
@Injectable()
export class ManyHosts {
  constructor(
    private readonly reader: HostsReader,
    private readonly hosts: HostsService,
    private readonly credentials: HostCredentials,
  ) {}

  /**
   * Changes all hosts that have the given labels. Throws Problem `host.too-many` if more than 200 hosts have the labels, and the problems of
   * `HostCredentials.normalized` for an unusable credential.
   */
  async change(caller: Caller, label: string, { change, dryRun }: ManyHostsOrder): Promise<ManyHostsItem[]> {
    const { items, nextCursor } = await this.reader.list({ label, limit: MAX_HOSTS });
    if (nextCursor !== null)
      throw new Problem(
        'refused',
        'host.too-many',
        `/label: ${label} matches more than ${MAX_HOSTS} hosts. Use a narrower selector, and call once for each subset of the hosts.`,
        { errors: [{ pointer: '/label', detail: `matches more than ${MAX_HOSTS} hosts` }] },
      );
    const hosts = items.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    if (dryRun) return hosts.map(({ id, name }) => ({ id, name }));
    const opened = change.credential ? await this.credentials.normalized(caller, change.credential) : change.credential;
    const done: ManyHostsItem[] = [];
    for (const host of hosts) done.push(await this.changeOne(caller, host, { ...change, credential: opened }));
    return done;
  }

  private async changeOne(caller: Caller, { id, name, version }: Host, change: HostChange): Promise<ManyHostsItem> {
    try {
      await this.hosts.update(caller, id, version, change);
      return { id, name };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return { id, name, code: error.code, detail: error.message };
    }
  }
}
