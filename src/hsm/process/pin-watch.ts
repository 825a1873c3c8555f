import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { RefusedPins } from './refused-pins.repository.js';

const LOOK_EVERY_MS = 2000;

/**
 * PinWatch detects when another login attempt is allowed after a rejected PIN: when the file contains a different PIN, or an operator requests a retry.
 */
export class PinWatch {
  private readonly salt = randomBytes(32);
  private timer?: NodeJS.Timeout;
  /** Fingerprint of the last PIN that the token accepted, so that the next start of the key process need not query the database. */
  private taken?: Buffer;

  /** Without `pins`, only attempts by this process are known. `readPin` throws while the file cannot be read. */
  constructor(
    private readonly readPin: () => string,
    private readonly pins: RefusedPins | undefined,
  ) {}

  /** Reports whether the token rejected this PIN in any process. */
  async isRefused(pin: string): Promise<boolean> {
    if (this.taken?.equals(this.digestOf(pin)) === true) return false;
    return (await this.pins?.isRefused(pin)) === true;
  }

  /** Records that the token accepted this PIN. */
  accepted(pin: string): void {
    this.taken = this.digestOf(pin);
  }

  /** Waits until the file contains a different PIN, or the database no longer lists the rejected PIN, then calls `again` once. */
  async begin(pin: string, again: () => void): Promise<void> {
    const refused = this.digestOf(pin);
    this.stop();
    this.taken = undefined;
    const isShared = (await this.pins?.remember(pin)) === true;
    this.timer = setInterval(() => void this.look(refused, isShared, again), LOOK_EVERY_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async look(refused: Buffer, isShared: boolean, again: () => void): Promise<void> {
    const pin = this.present();
    if (pin === undefined) return;
    const isOther = !timingSafeEqual(this.digestOf(pin), refused);
    if (!isOther && !(isShared && (await this.pins?.isRefused(pin)) === false)) return;
    if (this.timer === undefined) return;
    this.stop();
    again();
  }

  private present(): string | undefined {
    try {
      return this.readPin() || undefined;
    } catch {
      return undefined;
    }
  }

  private digestOf(pin: string): Buffer {
    return createHmac('sha256', this.salt).update(pin).digest();
  }
}
