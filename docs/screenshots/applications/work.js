import { createServer } from 'node:http'
import { Queue, Worker } from 'bullmq'
import nodemailer from 'nodemailer'
import pg from 'pg'

const connection = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT) }
const mailer = nodemailer.createTransport({ port: Number(process.env.SMTP_PORT), ignoreTLS: true })
const pool = new pg.Pool()
const orders = new Queue('orders', { connection })

await pool.query('CREATE TABLE customers (id int PRIMARY KEY, name text, email text)')
await pool.query("INSERT INTO customers VALUES (7, 'Ada', 'ada@example.org'), (8, 'Bob', NULL)")

/** Sends the confirmation of an order. */
async function confirm({ data: { customer, order } }) {
  const { rows } = await pool.query('SELECT name, email FROM customers WHERE id = $1', [customer])
  const [{ email, name }] = rows
  const address = email.trim()
  await mailer.sendMail({
    from: 'Shop <shop@example.org>',
    to: { name, address },
    subject: `Your order ${order}`,
    html: `<h1>Thank you, ${name}!</h1><p>Your order <b>${order}</b> is on its way.</p>`,
    attachments: [{ filename: 'invoice.pdf', content: Buffer.alloc(18_200) }],
  })
  return { sent: order }
}

new Worker('orders', confirm, { connection })

createServer(async (request, response) => {
  const [, , customer] = request.url.split('/')
  if (request.method !== 'POST') return response.writeHead(404).end()
  const data = { customer: Number(customer), order: 1000 + Number(customer) }
  const { id } = await orders.add('confirm', data, { attempts: 3, backoff: 20 })
  response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ id }))
}).listen(process.env.PORT)
