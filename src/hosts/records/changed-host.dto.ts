import { type DroppedByChange, isNothing } from './host-moves.js';
import type { Host } from '../model/host.entity.js';
import { HostView } from './hosts.dto.js';

export class DroppedView implements DroppedByChange {
  /** The host had a credential and has none now: enter it again. @example true */
  credential: boolean;
  /** Host keys that wait to be confirmed again. @example 1 */
  pinnedKeys: number;
  /** Hosts reached through this one whose credential was dropped. @example 0 */
  credentialsBehind: number;
}

export class ChangedHostView extends HostView {
  /** What the change took away, since it was meant for another place; absent when nothing was. */
  dropped?: DroppedView;

  static after(row: Host, dropped: DroppedByChange): ChangedHostView {
    return Object.assign(new ChangedHostView(), HostView.of(row), isNothing(dropped) ? {} : { dropped });
  }
}
