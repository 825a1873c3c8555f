import { Injectable } from '@nestjs/common';

/** Clock returns the wall-clock time of this process. Leases and due times use the database clock, which all processes share. */
@Injectable()
export class Clock {
  now(): Date {
    return new Date();
  }
}
