import { awaited, secondsOf } from '../api/awaiting.js';
import { type ClientCommand, text } from '../api/command.js';
import { EXIT, usageError } from '../api/exit-codes.js';

export const request: ClientCommand = {
  name: 'request',
  usage: 'ID [--wait SECONDS]',
  meaning: 'shows a signing request; ends with 0 when it is signed, 1 when it failed, 5 while it is pending',
  options: { wait: { type: 'string' } },
  async run({ options, positionals, api, print }) {
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw usageError('request takes one id.');
    const found = await awaited(await api(), id, secondsOf(text(options, 'wait')));
    const { status, key, failure, signature } = found;
    const said = failure === undefined ? [] : [`${failure.detail} [${failure.code}]`];
    print(found, [
      `${status} by ${key.name} v${key.version}`,
      ...said,
      ...(signature === undefined ? [] : [signature]),
    ]);
    if (status === 'SIGNED') return EXIT.done;
    return status === 'FAILED' ? EXIT.failed : EXIT.pending;
  },
};
