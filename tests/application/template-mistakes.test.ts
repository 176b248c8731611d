import { createFrameworkBundle, HtmlFragment, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'

// Each row is a mistake in one template. The start refuses it, the page fails, or development logs it: with the file,
// the line, and what is right.

const model = {
  title: 'Ink',
  count: 3,
  items: [{ name: 'Ada' }],
  user: { name: 'Ada' },
  byId: new Map([['a', 1]]),
  late: { book: Promise.resolve(1), list: [Promise.resolve(1)] },
  stars: 5,
  book: Object.create({ title: 'Ink' }),
  async *stream() {},
}

/** The text of the page, and a part of its message. */
type Rows = Readonly<Record<string, string>>

const noOperators = 'templates have no operators, methods and filters: write a helper'
const layout = ': a layout is a partial with a block, {{#> layout}} … {{/layout}}'
const foreign = 'is of another language, templates are Handlebars'

/** What keeps the application from starting. */
const refused: Rows = {
  // Values of helpers: wrong, missing, too many.
  '{{path}}': "{{path}}: the name of the route is missing: write it in quotes, as in {{path 'home'}}",
  "{{path 'hoem'}}": 'There is no route "hoem"; the nearest is "home"',
  "{{path 'show'}}": 'cannot be generated without "id"',
  "{{path 'split' user-id=7}}":
    'without "user"; its path has no "user-id": ":user-id" is the variable "user" with the text "-id" behind it',
  "{{url 'split' userId=7}}": 'for one name write :userId or :"user-id"',
  "{{path 'show' 7}}": "{{path}}: values of the path have names: {{path 'home' id=7}}",
  "{{url 'show' ID=7}}": 'without "id"; its path has no "ID"',
  "{{path 'show' id=null}}": 'without "id", which is null',
  '{{asset}}': "{{asset}}: the name of the file is missing: write it in quotes, as in {{asset 'site/site.css'}}",
  "{{asset 'site/site.css' 'b'}}": '{{asset}}: it takes 1 value',
  "{{asset 'site/site.css' v=1}}": '{{asset}}: it takes no value with a name, such as v=…',
  "{{render 'home'}}": `{{render}}: it takes a path, as in {{render (path 'home')}}, not "home"`,
  "{{render 'https://a.test/'}}": "it takes a path, as in {{render (path 'home')}}",
  "{{render (path 'home') id=7}}": '{{render}}: it takes no value with a name, such as id=…',
  '{{dump}}': '{{dump}}: it takes 1 or 2 values',
  "{{dump title 'a' 'b'}}": '{{dump}}: it takes 1 or 2 values',
  '{{#if (eq count)}}a{{/if}}': '{{eq}}: it takes 2 values',
  '{{#if (eq count value=3)}}a{{/if}}': '{{eq}}: it takes no value with a name, such as value=…',
  '{{#if (not)}}a{{/if}}': '{{not}}: it takes 1 value',
  '{{lookup items}}': '{{lookup}}: it takes two values: {{lookup prices book.id}}',
  '{{log}}': '{{log}}: it takes values: {{log "price" cents}}',
  // A helper as a block, and a block as a helper.
  "{{#path 'home'}}a{{/path}}": '{{#path}} is no block: write {{path …}}, or {{#if (path …)}} … {{/if}}',
  '{{#eq count 3}}a{{/eq}}': '{{#eq}} is no block: write {{eq …}}, or {{#if (eq …)}} … {{/if}}',
  "{{#bold 'a'}}b{{/bold}}": '{{#bold}} is no block: write {{bold …}}',
  '{{#stars}}a{{/stars}}': 'A value of the page that has the name of a helper is {{this.stars}}',
  '{{if count}}': '{{if}} is a block: write {{#if value}} … {{else}} … {{/if}}',
  "{{concat 'a' (if count 'b' 'c')}}": '{{if}} is a block: write {{#if value}} … {{else}} … {{/if}}',
  '{{each items}}': '{{each}} is a block: write {{#each value}} … {{else}} … {{/each}}',
  // Blocks.
  'a\n  {{#if count}}b': 'line 2: {{#if}} has no end: write {{/if}}',
  '{{#if count}}\n{{#each items}}\n{{/if}}': 'line 2: {{#each}} has no end before {{/if}}: write {{/each}}',
  '{{#if count}}a{{/end}}': 'line 1: {{#if}} has no end before {{/end}}: write {{/if}}',
  '{{#if count}}a{{endif}}': '{{#if}} has no end: write {{/if}}',
  '{{#> shop/layout}}a{{/layout}}': '{{#> shop/layout}} has no end before {{/layout}}: write {{/shop/layout}}',
  '{{#*inline "a"}}{{!-- {{/inline}} --}}': '{{#*inline}} has no end: write {{/inline}}',
  '{{^count}}a{{/if}}': '{{^count}} has no end before {{/if}}: write {{/count}}',
  'a\n{{/if}}': 'line 2: {{/if}} closes no block',
  '{{else}}': '{{else}} is in no block',
  '{{#if count}}a{{else}}b{{else}}c{{/if}}': '{{#if}} has a second {{else}}: write {{else if value}} before it',
  '{{!-- a': 'the comment has no end: write --}}',
  // Expressions.
  '{{title': '{{title is not closed: an expression ends with }}',
  'a\n{{title} b': 'line 2: {{title} is not closed: an expression ends with }}',
  '{{items[0].name}}': '{{items[0].name}}: an item of a list is {{items.[0]}}',
  '{{#if count > 3}}a{{/if}}': `{{#if count > 3}}: ${noOperators}`,
  '{{title | upper}}': `{{title | upper}}: ${noOperators}`,
  '{{count ? 1 : 2}}': noOperators,
  '{{#if (count ?? 1)}}{{/if}}': noOperators,
  '{{#if count - 1}}{{/if}}': noOperators,
  '{{title.toUpperCase()}}': noOperators,
  '{{.name}}': '{{.name}}: it cannot be read at ".name"',
  // Partials and layouts.
  '{{> part}}': 'there is no partial "part"; the nearest is "shop/part"',
  '{{> ./part}}': 'there is no partial "./part"; the nearest is "shop/part"',
  '{{> header}}': 'there is no partial "header": its file would be templates/header.hbs',
  '{{> shop/part.hbs}}': 'there is no partial "shop/part.hbs": names have no ending, write "shop/part"',
  '{{> content}}': `there is no partial "content"${layout}`,
  '{{{body}}}': `output must be escaped${layout}`,
  '{{{title}}}': 'output must be escaped: use two braces; HTML of your own comes from a helper, as an HtmlFragment',
  "{{include 'shop/part'}}": 'there is no helper "include": write {{> folder/partial}}',
  '{{#> shop/layout}}{{#*inline head}}a{{/inline}}{{/shop/layout}}': 'an inline partial is {{#*inline "name"}}',
  '{{#*inlin "head"}}a{{/inlin}}': 'an inline partial is {{#*inline "name"}} … {{/inline}}, with its name in quotes',
  '{{#if (ne count 3)}}a{{/if}}': `there is no helper "ne": a bundle adds it by view.addHelper('ne', function)`,
  "{{date created 'Y-m-d'}}": `there is no helper "date": a bundle adds it by view.addHelper('date', function)`,
  "{{csrf_field 'x'}}": 'there is no helper "csrf_field": forms need no token',
  '{{@request.path}}':
    'there is no global "@request": pass what the page needs of it as a value, or by view.addGlobal(name, value)',
  '{{#if @loop.first}}a{{/if}}':
    'there is no global "@loop": in {{#each}}, an item has {{@index}}, {{@first}} and {{@last}}',
  "{{path 'home' absolute=true}}": '"absolute" is an option, not a parameter: write {{url}} in a template',
  // Other languages, encodings.
  '<%=title%>': `<%=title%> ${foreign}`,
  '<a href="<%= url %>">': `<%= url %> ${foreign}`,
  '<?php echo 1 ?>': `<?php echo 1 ?> ${foreign}`,
  '{% endblock %}': `{% endblock %} ${foreign}`,
  '{!! $title !!}': `{!! $title !!} ${foreign}`,
  "@extends('layout')": `@extends('layout') ${foreign}`,
  'a\n  @endif': `line 2:   @endif ${foreign}`,
  'a\0b': 'it is UTF-16, and must be UTF-8',
}

/** What fails the page. */
const failing: Rows = {
  '{{path home}}': "{{path}}: the name of the route is missing: write it in quotes, as in {{path 'home'}}",
  "{{path 'show' id=nope}}": 'without "id", which is undefined',
  "{{path 'show' id=late.book}}": '"id" is neither a text nor a number, but a promise',
  '{{path late.book}}': '{{path}}: its value is a promise: await it before render()',
  '{{asset nope}}': '{{asset}}: the name of the file is missing',
  '{{render nope}}': "{{render}}: it takes a path, as in {{render (path 'home')}}, not undefined",
  "{{concat 'a' late.book}}": '{{concat}}: one of its values is a promise: await it before render()',
  '{{#if (eq late.book 1)}}a{{/if}}': '{{eq}}: one of its values is a promise: await it before render()',
  '{{byId.a}}': '"a" is not defined: templates do not read a Map: pass Object.fromEntries(map)',
  '{{book.title}}': 'templates do not read methods and getters of',
  '{{@index}}': '"@index" is not defined: it is one of an item, in the block of {{#each}}',
  '{{#if count}}{{../title}}{{/if}}':
    '{{../title}} is above the page: {{#each}} and {{#with}} begin a level, {{#if}} does not; {{@root.title}} is of the page',
  '{{#each items}}{{item.name}}{{/each}}':
    'because "item" is undefined; the nearest is "items", whose items get this name by {{#each items as |item|}}',
  '{{#each items}}{{loop.index}}{{/each}}': 'because "loop" is undefined: in {{#each}}, an item has {{@index}}',
  '{{nothing.name}}': 'because "nothing" is null: if it may be missing, write {{#if nothing}} … {{/if}} around it',
  '{{#if nothing.name}}a{{/if}}': 'because "nothing" is null: if it may be missing, write {{#if nothing}}',
  '{{@visitor.name}}': 'because "@visitor" is undefined: if it may be missing, write {{#if @visitor}}',
  '{{site}}': '"site" is not defined here: write {{@site}}',
  '{{#if site.name}}a{{/if}}': '"name" of site.name is not defined, because "site" is undefined: write @site.name',
  '{{yield}}': '"yield" is not defined: a layout has {{> @partial-block}}',
  '{{> shop/page}}': '{{> shop/page}} leads back to "shop/page", without an end',
  '{{#if count}}{{> shop/cycle}}{{/if}}': 'line 1: {{> shop/cycle}} leads back to "shop/page", without an end',
}

/** What development logs. */
const logged: Rows = {
  '{{user}}':
    '{{user}} in templates/shop/page.hbs:1 writes an object with the key "name": write one of its values, such as {{user.name}}.',
  'a\n {{#each items}}{{this}}{{/each}}':
    '{{this}} in templates/shop/page.hbs:2 writes an object with the key "name": write one of its values, such as {{this.name}}.',
  '{{#items}}{{.}}{{/items}}':
    '{{this}} in templates/shop/page.hbs:1 writes an object with the key "name": write one of its values, such as {{this.name}}.',
  '{{items}}': '{{items}} in templates/shop/page.hbs:1 writes a list of objects: write {{#each}}.',
  '{{byId}}': '{{byId}} in templates/shop/page.hbs:1 writes an object of the class Map.',
  '{{#each late.list}}{{this}}{{/each}}':
    '{{this}} in templates/shop/page.hbs:1 writes a promise: await it before render().',
  '{{named 1}}': '{{named …}} in templates/shop/page.hbs:1 writes an object with the key "a".',
  '{{later 1}}': '{{later …}} in templates/shop/page.hbs:1 writes a function.',
  '{{stars}}':
    '{{stars}} in templates/shop/page.hbs:1 calls the helper "stars"; the value of the page is {{this.stars}}.',
  '{{#if site}}a{{/if}}':
    '{{#if site}} in templates/shop/page.hbs:1 has no value: if the global is meant, write {{#if @site}}.',
  "{{#if (eq site 'a')}}a{{/if}}":
    '{{eq … site}} in templates/shop/page.hbs:1 has no value: if the global is meant, write @site.',
  "{{concat 'a' site}}":
    '{{concat … site}} in templates/shop/page.hbs:1 has no value: if the global is meant, write @site.',
  '{{#each site}}a{{/each}}':
    '{{#each site}} in templates/shop/page.hbs:1 has no value: if the global is meant, write {{#each @site}}.',
  '{{#each count}}a{{/each}}': '{{#each count}} in templates/shop/page.hbs:1 shows no item: its value is a number.',
  '{{#each title}}a{{/each}}':
    '{{#each title}} in templates/shop/page.hbs:1 shows no item: its value is a string of 3 characters.',
  '{{#each (streamed 1)}}a{{/each}}':
    '{{#each (streamed …)}} in templates/shop/page.hbs:1 shows no item: its value is asynchronous: collect its items before render().',
  'a\n<form action="/a" method="put"></form>':
    '<form method="put"> in templates/shop/page.hbs:2 is sent by GET: a form of HTML has get or post.',
}

/** Unusual pages that are right. */
const right: readonly string[] = [
  '<code>{% for item in items %}</code>',
  '<template><%= title %></template><samp><% a %></samp><kbd>{% if a %}</kbd>',
  '<input placeholder="<%= name %> or {% if a %}" title=\'<%= a %>\'>',
  "{{concat '<%= a %>' '{% if a %}'}}",
  '<!-- {% for a in b %} <?php --><script>a = "<%= b %>"</script>',
  '<p>100 {%} and 5 <% 6, {{title}}% @endif of it, ada@extends.test</p>',
  '<style>@media print { a { width: 10% } }\n@import "a.css";</style>',
  `<p v-if="a" @click="b" :href="c" x-text="d">{ title } \${title} {#if a} {{count}}</p>`,
  '<form method="post"></form><form method="GET"></form><form method=dialog></form><form method="{{title}}"></form>',
  '<code><form method="put"></code><!-- <form method="put"> -->',
  '{{#if count}}a{{else if title}}b{{else}}c{{/if}}',
  '{{#unless count}}a{{^}}b{{/unless}}',
  '{{~#if count~}} a {{~else~}} b {{~/if~}}',
  '{{#each items as |item index|}}{{index}}{{item.name}}{{/each}}',
  '{{#each items}}{{@index}}{{@first}}{{@last}}{{../title}}{{@root.title}}{{/each}}',
  '{{#each items}}{{#each ../tags}}{{../../title}}{{/each}}{{/each}}',
  '{{#each user}}{{@key}}={{this}}{{/each}}{{#each byId}}{{this}}{{/each}}',
  '{{#if @site}}{{@site.name}}{{/if}}{{#if @visitor}}a{{/if}}',
  "{{path 'show' id=1 absolute='1'}}",
  "{{concat 'a' nope}}{{#each items as |site|}}{{concat site.name nope}}{{/each}}",
  '{{#each nope}}a{{else}}b{{/each}}{{#each nothing}}{{/each}}{{#each empty}}{{/each}}',
  '{{#with user}}{{name}}{{../title}}{{else}}a{{/with}}',
  '{{#with user as |person|}}{{person.name}}{{/with}}',
  '{{#items}}{{name}}{{/items}}{{#user}}{{name}}{{/user}}{{^nothing}}a{{/nothing}}',
  '{{this.stars}}{{#with this.user}}{{name}}{{/with}}{{#this.user}}{{name}}{{/this.user}}',
  '{{#each items as |path|}}{{path.name}}{{/each}}',
  "{{items.[0].name}}{{items.0.name}}{{lookup items.[0] 'name'}}",
  '{{tags}}{{matrix}}{{date}}{{made}}{{nothing}}{{empty}}{{yes}}{{big}}',
  "{{bold 'a'}}{{stars 3}}{{concat 'a' (stars 2)}}",
  "{{#if (or (eq count 3) (not (and title yes)))}}{{concat 'a' count nothing}}{{/if}}",
  "{{render (path 'home')}}{{path 'show' id=7 q='a b'}}{{url 'home'}}{{dump user}}{{dump user 'the user'}}",
  "{{render '/'}}{{asset 'shop/a.css'}}",
  '{{> shop/part}}{{> shop/part user}}{{> shop/part label=title}}{{> "shop/part"}}',
  '{{#> shop/layout}}a{{/shop/layout}}{{#> "shop/layout"}}a{{/"shop/layout"}}',
  '{{#> shop/layout}}{{#*inline "head"}}a{{/inline}}b{{/shop/layout}}',
  '{{! a }}{{!-- {{#if}} {{{a}}} --}}{{~! a ~}}{{~!-- a --~}}',
  '\\{{title}} \\\\{{title}}',
  '\uFEFF<p>{{title}}</p>\r\n{{#if count}}\r\na\r\n{{/if}}\r\n',
  '<p>\uFFFD stands for wrong bytes, caf\u00e9 \u{1f600} {{title}}</p>',
  '{{#if count}}{{#if title}}{{else}}{{/if}}{{else}}{{/if}}',
  '{{! }}}} }}{{title}}',
  '{{[title]}}{{this.[title]}}{{this/title}}',
  '{{concat \'{{#if}}\' "}}"}}',
  '<a href="{{path \'show\' id=count}}" class="{{#if yes}}on{{/if}}">{{title}}</a>',
  '{{#each (lookup lists "a")}}{{this}}{{/each}}',
  '{{#each tags}}{{this}}{{#unless @last}}, {{/unless}}{{/each}}',
  '<option value="{{count}}"{{#if yes}} selected{{/if}}>{{title}}</option>',
]

const extra = {
  tags: ['a', 'b'],
  matrix: [[1, 2], [3]],
  date: new Date(0),
  made: { toString: () => 'made' },
  nothing: null,
  empty: '',
  yes: true,
  big: 5n,
  lists: { a: [1] },
}

/** What an application with one page says: the error of its start or of its page, or the warnings of its log. */
async function visit(directory: string): Promise<readonly string[]> {
  const { client, close, records } = await createTestKernel({
    bundles: [
      createFrameworkBundle(),
      {
        name: 'shop',
        register({ routes, view }) {
          view.addHelper('stars', ({ positional: [count] }) => '*'.repeat(Number(count ?? 0)))
          view.addHelper('bold', () => new HtmlFragment('<b>a</b>'))
          view.addHelper('named', () => ({ a: 1 }))
          view.addHelper('later', () => () => 1)
          view.addHelper('streamed', () => model.stream())
          view.addGlobal('site', { name: 'Shop' })
          view.addGlobal('visitor', () => undefined)
          routes.get('home', '/', () => Response.html('home'))
          routes.get('show', '/show/:id', () => Response.empty())
          routes.get('split', '/split/:user-id', (_, { user }) => Response.text(user ?? ''))
          routes.get('page', '/page', request =>
            Response.html(view.render('shop/page', { ...model, ...extra }, request)),
          )
        },
      },
    ],
    directory,
  })
  try {
    const { status } = await client.get('/page')
    const found = records.filter(({ level }) => level !== 'debug' && level !== 'info').map(({ message }) => message)
    return status === 200 || found.length > 0 ? found : [`status ${status}`]
  } finally {
    await close()
  }
}

t.test('each mistake in a template is named with its place and what is right', async t => {
  const folder = (page: string | Buffer) =>
    t.testdir({
      bundles: { shop: { assets: { 'a.css': '' } } },
      templates: {
        shop: {
          'page.hbs': page,
          'part.hbs': 'part',
          'layout.hbs': '<main>{{> @partial-block}}</main>',
          'cycle.hbs': '{{> shop/page}}',
        },
      },
    })
  const offences: string[] = []
  const expectAll = async (rows: Rows, place: string) => {
    for (const [page, message] of Object.entries(rows)) {
      const said = await visit(folder(page)).catch((error: Error) => [error.message])
      const isNamed = said.length === 1 && said[0]?.includes(message) && said[0].includes(place)
      if (!isNamed) offences.push(`${page}: ${said.join(' | ')}`)
    }
  }
  await expectAll(refused, 'templates/shop/page.hbs: line ')
  await expectAll(failing, 'templates/shop/page.hbs: line ')
  await expectAll(logged, 'templates/shop/page.hbs:')
  for (const page of right) {
    const said = await visit(folder(page)).catch((error: Error) => [error.message])
    if (said.length > 0) offences.push(`${page} is right: ${said.join(' | ')}`)
  }
  t.strictSame(offences, [])
  await t.rejects(visit(folder(Buffer.from('a\ncaf\xe9', 'latin1'))), {
    message: 'page.hbs: line 2: a byte is not UTF-8: save the file as UTF-8',
  })
})
