import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { KeyVault } from '../../hsm/key-vault.js';
import { recordAlertEvents } from '../../platform/events/alert-events.js';
import { Background } from '../../platform/work/background.js';

const EVERY_MS = 2000;
/** Number of consecutive failed checks after which the HSM is considered down. Replacing a key process takes less time than these checks. */
const CHECKS_BEFORE_DOWN = 5;

/** Records an alert event if this process has been unable to reach the HSM for ten seconds, and another event when the HSM is reachable again. */
@Injectable()
export class HsmWatcher {
  private missed = 0;
  /** Last recorded state; undefined at startup, because an earlier process may have recorded `down`. */
  private reported: 'up' | 'down' | undefined;

  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
  ) {}

  @Background({ name: 'hsm-watch', scope: 'process', every: EVERY_MS })
  async check(): Promise<void> {
    const { up, detail } = this.vault.health();
    this.missed = up ? 0 : this.missed + 1;
    const state = up ? 'up' : this.missed >= CHECKS_BEFORE_DOWN ? 'down' : this.reported;
    if (state === undefined || state === this.reported) return;
    await recordAlertEvents(this.db.manager, [
      { type: 'hsm.down', subject: { kind: 'hsm', id: 'hsm', name: 'HSM' }, facts: { why: detail }, over: up },
    ]);
    this.reported = state;
  }
}
