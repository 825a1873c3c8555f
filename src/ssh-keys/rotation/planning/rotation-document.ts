import type { Host } from '../../../hosts/model/host.entity.js';
import type { SshKey } from '../../keys/ssh-key.entity.js';
import type { Rotation } from '../model/rotation.entity.js';
import type { RotationTarget, TargetPlan } from '../model/rotation-target.entity.js';

interface Parts {
  readonly rotation: Rotation;
  readonly old: SshKey;
  readonly next: SshKey | undefined;
  readonly targets: readonly RotationTarget[];
  readonly hosts: readonly Host[];
}

/** Returns the part of a plan that an approval covers: the files with their hashes, and the changes. This part contains no timestamps. */
export function coveredPlan({ files, diffs, confidence, warnings }: TargetPlan) {
  return {
    files: files.map(({ path, as, sha256, originals, oldText }) => ({
      path,
      as,
      sha256,
      originals: [...originals],
      oldText,
    })),
    changes: diffs.map(({ path, result }) => ({ path, diff: result })),
    confidence,
    warnings: [...warnings],
  };
}

/** Returns the document that approvers see, built only from database rows. The document stays the same as long as the rows stay the same. */
export function documentOf({ rotation, old, next, targets, hosts }: Parts): Record<string, unknown> {
  const { id, custody, settings, requestedBy, ownerId } = rotation;
  const byId = new Map(hosts.map((host) => [host.id, host]));
  return {
    operation: 'ssh-rotation',
    rotation: id,
    goes: { fingerprint: old.fingerprint, type: old.type, comment: old.comment },
    comes:
      next === undefined ? { madeBy: 'the host that holds it' } : { fingerprint: next.fingerprint, type: next.type },
    custody,
    settings: { ...settings },
    requestedBy: { kind: requestedBy.kind, id: requestedBy.id, name: requestedBy.name, ownerId },
    accounts: targets
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((target) => ({
        host: byId.get(target.hostId)?.name ?? null,
        address: `${byId.get(target.hostId)?.address} port ${byId.get(target.hostId)?.port}`,
        hostId: target.hostId,
        account: target.account,
        wave: target.wave,
        ...(target.plan === null ? { leftOut: true } : coveredPlan(target.plan)),
      })),
  };
}
