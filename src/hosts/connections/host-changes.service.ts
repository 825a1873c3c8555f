import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Problem } from '../../platform/errors/problem.js';
import { Host } from '../model/host.entity.js';
import { type OpenOptions, SshConnections } from './ssh-connections.service.js';
import type { ChangeSession } from './ssh-session.port.js';

/** The only way to a session that changes a host. Code that only reads uses `SshConnections`. */
@Injectable()
export class HostChanges {
  constructor(
    private readonly db: DataSource,
    private readonly connections: SshConnections,
  ) {}

  /**
   * Logs in to a host in the management mode `managed`. Throws Problem `host.missing`, `host.not-managed` for a host that is `inventory-only`, and whatever
   * `SshConnections.open` throws.
   */
  async openToChange(hostId: string, options: OpenOptions): Promise<ChangeSession> {
    await this.assertManaged(hostId);
    return (await this.connections.open(hostId, options)) as ChangeSession;
  }

  /** Throws Problem `host.missing` or `host.not-managed`. */
  async assertManaged(hostId: string): Promise<void> {
    const host = await this.db.manager.findOneBy(Host, { id: hostId });
    if (host === null) throw new Problem('missing', 'host.missing', 'There is no host with this id.');
    if (host.managementMode === 'managed') return;
    throw new Problem(
      'conflict',
      'host.not-managed',
      `The host ${host.name} is looked at only. Set its managementMode to managed if the service may change it.`,
    );
  }
}
