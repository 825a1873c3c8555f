import { Injectable } from '@nestjs/common';

/** Wall-clock time of this process. Leases and due times use the database's clock instead, which all processes share. */
@Injectable()
export class Clock {
  now(): Date {
    return new Date();
  }
}
