import { Injectable } from '@nestjs/common';
import { DataSource, IsNull } from 'typeorm';
import { advisoryLock } from '../../platform/database/statements.js';
import { newId } from '../../platform/database/new-id.js';
import { HostKeysService, type SeenHostKey } from '../host-keys/host-keys.service.js';
import { readPublicKeyBlob } from '../host-keys/public-key-blob.js';
import { Host, type ScanGap } from '../model/host.entity.js';
import { truncate } from '../../platform/text/truncate.js';

/** SshSighting is an SSH server that a scan detected. */
export interface SshSighting {
  readonly address: string;
  readonly port: number;
  readonly software: string;
  readonly scanId: string;
  readonly hostKeys: readonly { readonly blob: Buffer; readonly proven: boolean }[];
}

/** HostSightings creates and updates hosts from scan results. */
@Injectable()
export class HostSightings {
  constructor(
    private readonly db: DataSource,
    private readonly keys: HostKeysService,
  ) {}

  /** Records an SSH server and returns the ID of its host. If no host exists at the address and port, creates an `inventory-only` host. */
  async saw(sighting: SshSighting): Promise<string> {
    const { address, port, software, scanId } = sighting;
    const id = await this.db.transaction(async (tx) => {
      // The lock ensures that concurrent scans create only one record for the host.
      await advisoryLock(tx, `host ${address} ${port}`);
      const known = await tx.findOne(Host, { where: { address, port, jumpHostId: IsNull() }, order: { id: 'ASC' } });
      const seen = {
        sshVersion: software,
        reachability: 'reachable',
        reachabilityCode: null,
        lastScanId: scanId,
      } as const;
      if (known !== null) {
        await tx.update(Host, { id: known.id }, { ...seen, checkedAt: () => 'now()' });
        return known.id;
      }
      const fresh = newId();
      const plain = port === 22 ? address : `${address}-${port}`;
      const taken = await tx.existsBy(Host, { name: nameOf(plain) });
      const name = taken ? `${nameOf(plain)}-${fresh}` : nameOf(plain);
      await tx.insert(Host, { id: fresh, name, address, port, ...seen, checkedAt: () => 'now()' });
      return fresh;
    });
    await this.keys.note(id, await this.judged(id, sighting.hostKeys), `scan ${scanId}`);
    return id;
  }

  /** Records that a scan logged in to the host. */
  async lookedInto(id: string, { os, scanId, gap }: { os: string; scanId: string; gap: ScanGap }): Promise<void> {
    const isWhole = gap.paths.length === 0 && !gap.lowConfidence;
    const seen = { lastScanId: scanId, scanGap: isWhole ? null : gap };
    await this.db.manager.update(Host, { id }, { ...seen, ...(os === '' ? {} : { os: truncate(os, 200) }) });
  }

  /** Records that a scan could not log in to the host, or lost the connection. */
  async notLookedInto(id: string, code: string): Promise<void> {
    await this.db.manager.update(Host, { id }, { scanGap: { code, paths: [], lowConfidence: false } });
  }

  private async judged(id: string, shown: SshSighting['hostKeys']): Promise<SeenHostKey[]> {
    const known = await this.keys.known(id);
    const pinned = known.filter(({ state }) => state === 'pinned');
    const expected = pinned.length > 0 ? pinned : known.filter(({ state }) => state === 'tofu-pending');
    const isExpected = (blob: Buffer) => expected.some((one) => one.blob.equals(blob));
    // Other keys are attributed to this host only if the host has also proved possession of an expected key.
    const isSameHost = expected.length === 0 || shown.some(({ blob, proven }) => proven && isExpected(blob));
    return shown.flatMap(({ blob, proven }): SeenHostKey[] => {
      const key = readPublicKeyBlob(blob);
      if (key === undefined) return [];
      const isKnown = known.some((one) => one.blob.equals(blob));
      const isOther = !isKnown && (!isSameHost || expected.some(({ type }) => type === key.type));
      return [{ key, possession: proven ? 'proven' : 'claimed', state: isOther ? 'changed' : 'tofu-pending' }];
    });
  }
}

/** Returns the text as a valid host name, with hyphens instead of the colons of IPv6 addresses. */
function nameOf(text: string): string {
  const name = text.replaceAll(':', '-');
  let [start, end] = [0, name.length];
  while (name[start] === '-') start += 1;
  while (end > start && name[end - 1] === '-') end -= 1;
  return name.slice(start, end);
}
