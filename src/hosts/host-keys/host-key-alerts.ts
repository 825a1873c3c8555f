import { Injectable } from '@nestjs/common';
import { In, type EntityManager } from 'typeorm';
import { EventAnnouncer } from '../../events/event-announcer.service.js';
import { Config } from '../../platform/config/config.js';
import { recordAlertEvents } from '../../platform/events/alert-events.js';
import { HostKey } from '../model/host-key.entity.js';
import { Host } from '../model/host.entity.js';
import type { PublicKeyBlob } from './public-key-blob.js';

/**
 * HostKeyAlerts records alerts and webhook messages about changed host keys, in the transaction that records the key. An alert lasts until a user has accepted
 * or rejected every changed key of the host, or the host is removed.
 */
@Injectable()
export class HostKeyAlerts {
  constructor(
    private readonly config: Config,
    private readonly events: EventAnnouncer,
  ) {}

  /** Raises the alert for new keys that a host presented instead of a trusted key. */
  async changed(tx: EntityManager, hostId: string, keys: readonly PublicKeyBlob[]): Promise<void> {
    if (keys.length === 0) return;
    const host = await tx.findOneByOrFail(Host, { id: hostId });
    const trusted = await tx.findBy(HostKey, { hostId, state: In(['pinned', 'tofu-pending']) });
    for (const { fingerprint, type } of keys) await this.report(tx, host, { fingerprint, type }, trusted);
  }

  /** Resolves the alert if no changed key of the host awaits a decision. */
  async decided(tx: EntityManager, hostId: string): Promise<void> {
    if (await tx.existsBy(HostKey, { hostId, state: 'changed' })) return;
    const { name } = await tx.findOneByOrFail(Host, { id: hostId });
    await recordAlertEvents(tx, [
      { type: 'host.key-changed', subject: { kind: 'host', id: hostId, name }, over: true },
    ]);
  }

  /** Resolves the alert about a removed host. */
  async removed(tx: EntityManager, { id, name }: Pick<Host, 'id' | 'name'>): Promise<void> {
    await recordAlertEvents(tx, [{ type: 'host.key-changed', subject: { kind: 'host', id, name }, over: true }]);
  }

  private async report(
    tx: EntityManager,
    { id, name, address, port }: Host,
    { fingerprint, type }: Pick<PublicKeyBlob, 'fingerprint' | 'type'>,
    trusted: readonly HostKey[],
  ): Promise<void> {
    const expected = trusted.map((key) => key.fingerprint);
    const where = `${address} port ${port}`;
    const why = `The host presented ${fingerprint} (${type}) instead of ${expected.join(', ') || 'its certified key'}. The service did not log in.`;
    const subject = { kind: 'host', id, name };
    await recordAlertEvents(tx, [{ type: 'host.key-changed', subject, facts: { where, why, presented: fingerprint } }]);
    await this.events.announce(tx, {
      type: 'hosts.key-changed',
      subject: { kind: 'host', id },
      at: new Date(),
      data: { host: { id, name, address, port }, presented: { fingerprint, type }, expected },
      title: `The host key of ${name} changed`,
      facts: [
        { name: 'Where', value: where },
        { name: 'Why', value: why },
        {
          name: 'What to do',
          value: 'Treat the change as an attack until the new key is confirmed from a trusted source.',
        },
      ],
      link: `${this.config.publicUrl}/hosts/${id}`,
    });
  }
}
