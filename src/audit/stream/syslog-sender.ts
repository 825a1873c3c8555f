import type { StreamDestination } from '../../platform/config/stream-destinations.js';
import type { OutboundClient } from '../../platform/outbound/outbound-client.js';
import type { StreamedLeaf } from './formats/streamed-leaf.js';
import { syslogFrame } from './formats/syslog.format.js';
import type { StreamSender } from './stream-sender.js';
import { SYSLOG_PATIENCE, SyslogConnection } from './syslog-connection.js';

/** Number of leaves or milliseconds after which a connection is closed, which confirms that the receiver has read the leaves. */
const MAX_UNCONFIRMED = 2000;
const CONFIRM_AFTER_MS = 2000;

/** Position up to which the receiver has read all leaves, and the time of the confirmation. */
interface Confirmation {
  readonly before: number;
  readonly at: number;
}

/**
 * Sends leaves by syslog over TLS (RFC 5425), which has no acknowledgements. Connections are short-lived instead. The next connection is opened before the
 * current one is closed: a clean close shows that everything was read, and the next connection shows that the receiver has not stopped in the meantime.
 * Leaves that were read count as stored once the receiver has kept running for `resendSeconds`. If a connection fails, all later leaves are sent again with the
 * same numbers.
 */
export class SyslogSender implements StreamSender {
  private current: SyslogConnection | undefined;
  /** Position after the last written leaf; undefined if everything written has been confirmed. */
  private unconfirmed: { before: number; leaves: number; readonly since: number } | undefined;
  private readonly confirmed: Confirmation[] = [];
  private opening: SyslogConnection | undefined;
  private isClosed = false;

  constructor(
    private readonly destination: StreamDestination,
    private readonly hostname: string,
    private readonly outbound: Pick<OutboundClient, 'addressOf'>,
    private readonly patience = SYSLOG_PATIENCE,
    private readonly now: () => number = () => performance.now(),
  ) {}

  async send(leaves: readonly [StreamedLeaf, ...StreamedLeaf[]]): Promise<number> {
    const { number: first } = leaves[0];
    this.current ??= await this.open();
    this.unconfirmed ??= { before: 0, leaves: 0, since: this.now() };
    this.unconfirmed.before = first + leaves.length;
    this.unconfirmed.leaves += leaves.length;
    await this.current.write(leaves.map((leaf) => syslogFrame(leaf, this.hostname, this.destination)).join(''));
    return leaves.length;
  }

  async acknowledged(idle: boolean): Promise<number | undefined> {
    if (this.unconfirmed !== undefined && this.isDue(this.unconfirmed)) await this.confirm(this.unconfirmed.before);
    const settled = this.settled();
    if (settled !== undefined && idle && this.unconfirmed === undefined && this.confirmed.length === 0) this.rest();
    return settled;
  }

  close(): void {
    this.isClosed = true;
    this.current?.destroy();
    this.opening?.destroy();
  }

  private isDue({ leaves, since }: { readonly leaves: number; readonly since: number }): boolean {
    return leaves >= MAX_UNCONFIRMED || this.now() - since >= CONFIRM_AFTER_MS;
  }

  /** Closes the current connection while the next connection is open. */
  private async confirm(before: number): Promise<void> {
    this.opening = await this.open();
    await this.current?.end();
    this.current = this.opening;
    this.opening = undefined;
    this.unconfirmed = undefined;
    this.confirmed.push({ before, at: this.now() });
  }

  private settled(): number | undefined {
    const fault = this.current?.fault;
    if (fault !== undefined) throw fault;
    const until = this.now() - this.destination.resendSeconds * 1000;
    let settled: number | undefined;
    while (this.confirmed[0] !== undefined && this.confirmed[0].at <= until) settled = this.confirmed.shift()?.before;
    return settled;
  }

  /** Closes the connection when there is nothing to send or confirm, so that the loss of an idle connection cannot go unnoticed. */
  private rest(): void {
    const { current } = this;
    this.current = undefined;
    void current?.end().catch(() => undefined);
  }

  private async open(): Promise<SyslogConnection> {
    const connection = await SyslogConnection.open(this.destination, this.outbound, this.patience);
    if (!this.isClosed) return connection;
    connection.destroy();
    throw new Error('the sender was closed');
  }
}
