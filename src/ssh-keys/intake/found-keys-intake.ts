import { Injectable } from '@nestjs/common';
import { Inbox } from '../../platform/inbox/inbox.js';
import { RotationDrift } from '../rotation/rotation-drift.js';
import { SshKeySightings } from '../keys/ssh-key-sightings.js';

/** Takes in keys that scans found. */
@Injectable()
export class FoundKeysIntake {
  constructor(inbox: Inbox, sightings: SshKeySightings, drift: RotationDrift) {
    inbox.serve('ssh-keys.found', async (found) => {
      await sightings.record(found);
      await drift.look(found.hostId, found.seenAt);
    });
  }
}
