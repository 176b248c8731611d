import express from 'express'
import pg from 'pg'

const database = new pg.Pool()
await database.query(`
  CREATE TABLE authors (id int PRIMARY KEY, name text);
  CREATE TABLE articles (id int PRIMARY KEY, title text, author_id int);
  INSERT INTO authors SELECT id, 'Author ' || id FROM generate_series(1, 9) id;
  INSERT INTO articles SELECT id, 'Article ' || id, 1 + id % 9 FROM generate_series(1, 25) id;
`)

const app = express()
app.use(express.json())

app.get('/articles', async function listArticles(_request, response) {
  const { rows: articles } = await database.query('SELECT id, title, author_id FROM articles ORDER BY id LIMIT 25')
  for (const article of articles) {
    const { rows } = await database.query('SELECT name FROM authors WHERE id = $1', [article.author_id])
    article.author = rows[0].name
  }
  response.json(articles)
})

app.listen(Number(process.env.PORT), '127.0.0.1')
