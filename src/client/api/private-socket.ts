import { chmod, lstat, mkdir, mkdtemp, rm, unlink } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname, join, resolve as absolute } from 'node:path';
import { ClientError, EXIT, usageError } from './exit-codes.js';

/** Maximum number of simultaneous connections. Each signing program uses one connection, and `make -j` starts many programs. */
const MAX_CONNECTIONS = 512;
/** Maximum length of sun_path in bytes on Linux and macOS, without the terminating null byte. */
const MAX_PATH_BYTES = 103;
const OTHERS = 0o077;

/**
 * PrivateSocket is a Unix socket for the current user only. The socket acts as a credential, because every process that can connect can request signatures. The
 * socket is therefore in a directory of mode 700. Node cannot query the peer (SO_PEERCRED), so the mode of the directory is the security boundary.
 */
export class PrivateSocket {
  private readonly connections = new Set<Socket>();

  private constructor(
    readonly path: string,
    private readonly server: Server,
    /** Directory that is removed with its contents on close. Undefined if the directory is kept. */
    private readonly directory: string | undefined,
  ) {}

  /** Creates a socket in a new directory in `parent`. `close` removes the directory. */
  static async temporary(parent: string, name: string, serve: (socket: Socket) => void): Promise<PrivateSocket> {
    const directory = await mkdtemp(join(parent, 'sealwright-')).catch((error: Error) => {
      throw new ClientError(EXIT.failed, `Cannot create a socket in ${parent} (set XDG_RUNTIME_DIR or TMPDIR to a directory that you own): ${error.message}`); // prettier-ignore
    });
    try {
      return await PrivateSocket.listen(join(directory, name), serve, directory);
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * Creates a socket at a fixed path, and replaces the socket of a dead process.
   *
   * @throws ClientError if other users can access the directory, or another process listens at the path
   */
  static async at(given: string, serve: (socket: Socket) => void): Promise<PrivateSocket> {
    const path = absolute(given);
    const directory = dirname(path);
    await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: Error) => {
      throw new ClientError(EXIT.failed, `Cannot create a socket at ${path}: ${error.message}`);
    });
    const { mode, uid } = await lstat(directory);
    if ((mode & OTHERS) !== 0 || uid !== process.getuid?.())
      throw new ClientError(
        EXIT.failed,
        `${directory} must be accessible only to you. Run chmod 700, or specify another directory.`,
      );
    if (await answers(path)) throw new ClientError(EXIT.failed, `Another agent is listening on ${path}.`);
    await unlink(path).catch(() => undefined);
    return PrivateSocket.listen(path, serve, undefined);
  }

  private static async listen(
    path: string,
    serve: (socket: Socket) => void,
    directory: string | undefined,
  ): Promise<PrivateSocket> {
    if (Buffer.byteLength(path) > MAX_PATH_BYTES)
      throw usageError(`${path} is too long for a socket. Set TMPDIR or XDG_RUNTIME_DIR to a shorter path.`);
    const server = createServer();
    server.maxConnections = MAX_CONNECTIONS;
    const socket = new PrivateSocket(path, server, directory);
    server.on('connection', (connection) => {
      socket.connections.add(connection);
      connection.on('close', () => socket.connections.delete(connection));
      serve(connection);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(new ClientError(EXIT.failed, `Cannot create a socket at ${path}: ${error.message}`))); // prettier-ignore
      server.listen(path, resolve);
    });
    await chmod(path, 0o600);
    return socket;
  }

  /** Directory that contains the socket. */
  get place(): string {
    return dirname(this.path);
  }

  /** Disconnects all clients and removes the socket. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const connection of this.connections) connection.destroy();
    await closed;
    await rm(this.directory ?? this.path, { recursive: true, force: true });
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', () => resolve(false));
  });
}
