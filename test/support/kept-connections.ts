import { Client } from 'pg';

/** Idle time after which a connection is closed, so that databases can be copied, renamed and dropped. */
const IDLE_MS = 500;

interface Kept {
  readonly client: Client;
  readonly timer: NodeJS.Timeout;
}

/**
 * Runs single statements, each in a clean session. Connections are reused, because tests poll, and opening a connection takes more than thirty times as long as
 * a short statement.
 */
export class KeptConnections {
  private readonly idle: Kept[] = [];

  constructor(private readonly url: string) {}

  async query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]> {
    const client = (await this.reused()) ?? (await connect(this.url));
    try {
      const { rows } = await client.query<Row>(text, values);
      await this.keep(client);
      return rows;
    } catch (error) {
      await end(client);
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.idle.splice(0).map(async (kept) => end(released(kept))));
  }

  /** Returns an idle connection that still works. */
  private async reused(): Promise<Client | undefined> {
    for (let kept = this.idle.pop(); kept !== undefined; kept = this.idle.pop()) {
      const client = released(kept);
      try {
        await client.query('');
        return client;
      } catch {
        await end(client);
      }
    }
    return undefined;
  }

  /** Ends what the statement left behind in the session (transaction, settings, locks), then keeps the connection. */
  private async keep(client: Client): Promise<void> {
    try {
      await client.query('ROLLBACK');
      await client.query('DISCARD ALL');
    } catch {
      return end(client);
    }
    const timer = setTimeout(() => {
      this.idle.splice(this.idle.indexOf(kept), 1);
      void end(client);
    }, IDLE_MS);
    const kept = { client, timer };
    this.idle.push(kept);
  }
}

/** Opens a connection whose loss does not end the process. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

function released({ client, timer }: Kept): Client {
  clearTimeout(timer);
  return client;
}

async function end(client: Client): Promise<void> {
  await client.end().catch(() => undefined);
}
