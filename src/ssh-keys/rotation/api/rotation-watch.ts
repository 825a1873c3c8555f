import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { RowWatch } from '../../../platform/database/row-watch.js';
import type { Followed } from '../../../platform/http/event-stream.js';
import { isOver } from '../model/rotation-state.js';
import { RotationsReader, type ShownRotation } from './rotations.reader.js';

/** Watches rotations on behalf of callers who follow them. */
@Injectable()
export class RotationWatch implements BeforeApplicationShutdown {
  readonly rows: RowWatch;

  constructor(private readonly reader: RotationsReader) {
    this.rows = new RowWatch(async (ids) =>
      (await reader.all(ids)).map((shown) => ({ id: shown.rotation.id, mark: markOf(shown) })),
    );
  }

  beforeApplicationShutdown(): void {
    this.rows.stop();
  }

  /** For `answerEvents`. */
  async follow<View>(id: string, viewOf: (shown: ShownRotation) => View): Promise<Followed<View>> {
    const shown = await this.reader.get(id);
    return { id, view: viewOf(shown), mark: markOf(shown), final: isOver(shown.rotation.status) };
  }
}

/** All that moves: the rotation, and how many of its targets stand where. */
function markOf({ rotation, progress }: ShownRotation): string {
  const places = Object.entries(progress).map(([place, count]) => `${place}=${count}`);
  return [rotation.status, rotation.wave, rotation.nextKeyId ?? '-', ...places].join(' ');
}
