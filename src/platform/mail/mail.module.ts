import { Module } from '@nestjs/common';
import { MailSender } from './mail-sender.js';

/** Sending, for processes that work in the background; putting mails into the outbox is part of the floor. */
@Module({ providers: [MailSender] })
export class MailModule {}
